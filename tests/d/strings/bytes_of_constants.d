/*
 * expect: 250 10 0
 * expect: later 1 earlier 0
 */
#pragma D option quiet
BEGIN
{
	high = "ab\xfa";
	low = "ab\x0a";
	printf("%d %d %d\n", (unsigned char)high[2], low[2], high[3]);
	printf("later %d earlier %d\n", high > low, high < low);
	exit(0);
}
