/*
 * Other programs on the machine may be given connections, too.
 * needs: rawtracepoint
 * workload: tcp 2
 * expect: opened 2 1
 * match: accepted ([2-9]|[1-9][0-9]+) 1
 * any-order
 */
#pragma D option quiet
mib:::tcpActiveOpens
/pid == $target/
{
	@opened = sum(arg0);
	opened = arg0;
}
mib:::tcpPassiveOpens
/opened/
{
	@accepted = sum(arg0);
	accepted = arg0;
}
END
{
	printa("opened %@d", @opened);
	printf(" %d\n", opened);
	printa("accepted %@d", @accepted);
	printf(" %d\n", accepted);
}
