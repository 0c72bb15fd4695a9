/*
 * Seven bytes of a connection come a second time, seven before others.
 * needs: root
 * needs: rawtracepoint
 * workload: disorder
 * expect: early 7 again 7
 */
#pragma D option quiet
mib:::tcpInDataUnorderBytes
/arg0 == 7/
{
	early += arg0;
}
mib:::tcpInDataDupBytes
/arg0 == 7/
{
	again += arg0;
}
END
{
	printf("early %d again %d\n", early, again);
}
