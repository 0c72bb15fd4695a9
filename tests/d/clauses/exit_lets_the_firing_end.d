/*
 * expect: first
 * expect: rest of the clause
 * expect: END
 * exit: 3
 */
#pragma D option quiet
BEGIN
{
	printf("first\n");
	exit(3);
	printf("rest of the clause\n");
}
BEGIN
{
	printf("later clause\n");
}
END
{
	printf("END\n");
}
