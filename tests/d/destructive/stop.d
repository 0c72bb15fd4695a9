/*
 * A process that was stopped calls nothing until somebody lets it go on.
 * flags: -w
 * workload: getppid 3
 * expect: stopped 1
 */
#pragma D option quiet
syscall::getppid:entry
/pid == $target/
{
	calls++;
	stop();
	stopped = pid;
}
tick-100ms
/stopped && ticks++ == 3/
{
	printf("stopped %d\n", calls);
	system("kill -KILL %d", stopped);
	exit(0);
}
