/*
 * Five bytes of a connection come a second time.
 * needs: root
 * needs: rawtracepoint
 * needs: linux>=6.3
 * workload: disorder
 * expect: again 5
 */
#pragma D option quiet
mib:::tcpInDataDupBytes
{
	again += arg0;
}
END
{
	printf("again %d\n", again);
}
