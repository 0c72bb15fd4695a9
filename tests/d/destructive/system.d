/*
 * flags: -w
 * expect: said 7
 */
#pragma D option quiet
BEGIN
{
	system("echo said %d", 7);
	exit(0);
}
