/*
 * workload: sleep 30
 * expect: slept 1
 * expect: woken 1
 */
#pragma D option quiet
sched:::sleep
/pid == $target/
{
	slept = 1;
}
sched:::off-cpu
/pid == $target && args[0]->pr_lwpid != tid/
{
	slept = 1;
}
sched:::wakeup
/args[1]->pr_pid == $target/
{
	woken = 1;
}
END
{
	printf("slept %d\nwoken %d\n", slept, woken);
}
