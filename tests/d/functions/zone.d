/*
 * Processes of the first namespace are in no zone.
 * workload: getppid 1
 * match: (global|[^ ]+) and (global|[^ ]+)
 */
#pragma D option quiet
BEGIN
{
	own = zonename;
}
syscall::getppid:entry
/pid == $target/
{
	printf("%s and %s\n", own, zonename);
}
