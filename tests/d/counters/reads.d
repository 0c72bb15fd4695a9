/*
 * needs: rawtracepoint
 * command: head -c 1000 /dev/zero
 * match: read [0-9]+ bytes, faults 1
 * loose
 */
#pragma D option quiet
int64_t bytes;
int faults;
sysinfo:::readch
/pid == $target/
{
	bytes += arg0;
}
vminfo:::as_fault
/pid == $target/
{
	faults = 1;
}
END
{
	printf("\nread %d bytes, faults %d\n", bytes, faults);
}
