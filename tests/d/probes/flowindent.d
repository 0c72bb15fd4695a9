/*
 * flags: -F
 * workload: getppid 1
 * match: CPU FUNCTION +
 * match:  +\d+  => getppid +
 * match:  +\d+  <= getppid +
 */
syscall::getppid:entry,
syscall::getppid:return
/pid == $target/
{
}
