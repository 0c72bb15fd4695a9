/*
 * workload: getppid 1
 * expect: sched comm is execname: 1
 */
#pragma D option quiet
sdt:sched::sched_process_exit
/pid == $target && args[0] == execname && args[1] == tid/
{
	@same = count();
}
END
{
	printa("sched comm is execname: %@d\n", @same);
}
