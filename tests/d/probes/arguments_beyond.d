/*
 * A call has as many arguments as its record: those beyond are 0, and calls with fewer do not lose their probe.
 * workload: write 3 77
 * expect: write 77 0 0
 * expect: write 77 0 0
 * expect: write 77 0 0
 * expect: closed 1
 */
#pragma D option quiet
syscall::write:entry,
syscall::close:entry
/pid == $target && (probefunc == "close" || arg2 == 77)/
{
	probefunc == "write" ? 1 : closed++;
}
syscall::write:entry
/pid == $target && arg2 == 77/
{
	printf("write %d %d %d\n", arg2, arg3, arg5);
}
END
{
	printf("closed %d\n", closed > 0);
}
