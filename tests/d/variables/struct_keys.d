/*
 * expect: 10 20 0
 */
#pragma D option quiet
struct place {
	int line;
	char column;
};
struct place a, b, c;
BEGIN
{
	a.line = 1;
	b.line = 1;
	b.column = 'x';
	c.line = 2;
	at[a] = 10;
	at[b] = 20;
	printf("%d %d %d\n", at[a], at[b], at[c]);
	exit(0);
}
