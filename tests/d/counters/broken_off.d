/*
 * needs: rawtracepoint
 * workload: reset 3
 * expect: refused 3 reset 3
 */
#pragma D option quiet
mib:::tcpOutRsts
/pid == $target/
{
	refused += arg0;
}
mib:::tcpEstabResets
/pid == $target/
{
	broken += arg0;
}
END
{
	printf("refused %d reset %d\n", refused, broken);
}
