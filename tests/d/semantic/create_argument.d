/*
 * workload: threads 4
 * expect: 4 1
 */
#pragma D option quiet
proc:::lwp-create
/args[1]->pr_pid == $target/
{
	n++;
	ok = args[0]->pr_lwpid != pid && args[1]->pr_fname == execname;
}
END
{
	printf("%d %d\n", n, ok);
}
