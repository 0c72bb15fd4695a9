/* hint: twice */
#pragma D option quiet
syscall::fsync:entry, syscall::fsync:return { @syncs[execname] = count(); }
