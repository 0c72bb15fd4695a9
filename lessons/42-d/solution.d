#pragma D option quiet

syscall::fsync:entry
{
    @syncs[execname] = count();
}
