/* hint: reads */
#pragma D option quiet
syscall::read:entry { @syncs[execname] = count(); }
