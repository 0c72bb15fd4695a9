/*
 * What reads at NULL fails when it runs, not when it is compiled.
 * stderr: invalid address (0x0)
 * expect: fault 1
 * expect: fault 1
 * expect: done
 */
#pragma D option quiet
BEGIN
{
	inet_ntoa6(NULL);
}
BEGIN
{
	inet_ntop(10, NULL);
}
BEGIN
{
	printf("done\n");
	exit(0);
}
ERROR
{
	printf("fault %d\n", arg4);
}
