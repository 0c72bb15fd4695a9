/* hint: key */
#pragma D option quiet
syscall::fsync:entry { @syncs[pid] = count(); }
