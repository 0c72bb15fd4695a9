/*
 * workload: getppid 20
 * expect: getppid 20
 */
#pragma D option quiet
syscall::getppid:entry
/pid == $target/
{
	self->began = timestamp;
}
syscall::getppid:return
/self->began/
{
	@[probefunc] = count();
	self->began = 0;
}
END
{
	printa("%s %@d\n", @);
}
