/*
 * expect: 3 text 2
 */
#pragma D option quiet
BEGIN, tick-5ms
{
	runs++;
}
BEGIN
{
	number = 3;
	text = "text";
	@sum = sum(2);
}
tick-5ms
/runs > 1/
{
	printf("%d %s ", number, text);
	printa("%@d\n", @sum);
	exit(0);
}
