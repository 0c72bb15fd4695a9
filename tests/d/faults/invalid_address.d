/*
 * expect: error 1 16
 * stderr: invalid address (0x10)
 */
#pragma D option quiet
BEGIN
{
	trace(*(int *)16);
}
ERROR
{
	printf("error %d %d\n", arg4, arg5);
	exit(0);
}
