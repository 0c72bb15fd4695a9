/* Count the calls of fsync by program. */
syscall::fsync:entry
{
    @syncs = count();
}
