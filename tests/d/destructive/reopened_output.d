/*
 * expect: seen
 * expect: seen again
 */
#pragma D option quiet
#pragma D option destructive
BEGIN
{
	printf("seen\n");
	freopen("/dev/null");
}
BEGIN
{
	printf("not seen\n");
	freopen("");
}
BEGIN
{
	printf("seen again\n");
	exit(0);
}
