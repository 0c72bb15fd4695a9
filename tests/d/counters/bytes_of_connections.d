/*
 * needs: rawtracepoint
 * workload: tcp 2
 * expect: out 10 in 10
 */
#pragma D option quiet
mib:::tcpOutDataBytes
/pid == $target/
{
	out += arg0;
}
mib:::tcpInDataInorderBytes
/pid == $target/
{
	in += arg0;
}
END
{
	printf("out %d in %d\n", out, in);
}
