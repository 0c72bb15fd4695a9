/*
 * expect: error 4
 * stderr: error in dt_clause_0 for probe ID 1 (dtrace:::BEGIN): divide-by-zero
 */
#pragma D option quiet
int zero;
BEGIN
{
	printf("not printed\n");
	trace(10 / zero);
}
ERROR
{
	printf("error %d\n", arg4);
	exit(0);
}
