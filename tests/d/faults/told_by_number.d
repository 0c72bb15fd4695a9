/*
 * exit: 0
 * expect: of clause 2
 * expect: of clause 4
 * stderr: dtrace: error in dt_clause_2 for probe ID 1 (dtrace:::BEGIN): divide-by-zero at line 20
 * stderr: dtrace: error in dt_clause_4 for probe ID 1 (dtrace:::BEGIN): index out of bounds (9)
 * any-order
 */
#pragma D option quiet
int numbers[4];

BEGIN, END
{
	i = 0;
	n = 9;
}

BEGIN
{
	j = 5 / i;
}

ERROR
{
	printf("of clause %d\n", arg2);
}

BEGIN
{
	j = numbers[n];
}

BEGIN
{
	exit(0);
}
