/*
 * Five bytes of a connection come a second time, five before others.
 * needs: root
 * needs: rawtracepoint
 * workload: disorder
 * expect: early 5 again 5
 */
#pragma D option quiet
mib:::tcpInDataUnorderBytes
{
	early += arg0;
}
mib:::tcpInDataDupBytes
{
	again += arg0;
}
END
{
	printf("early %d again %d\n", early, again);
}
