/*
 * A listener whose queue is full answers no more: the request for a connection is sent again after a second.
 * needs: rawtracepoint
 * workload: unanswered 1500
 * expect: again 1 bytes 0
 */
#pragma D option quiet
mib:::tcpRetransSegs
{
	again = 1;
}
mib:::tcpRetransBytes
{
	bytes += arg0;
}
END
{
	printf("again %d bytes %d\n", again, bytes);
}
