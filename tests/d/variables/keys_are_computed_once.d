/*
 * What stands between brackets is computed once, though `+=` and `++` read the element and write it.
 * expect: 3 5 1 7
 * expect: 2 4 6
 * expect: 2 7 9
 * expect: 1 12
 */
#pragma D option quiet
int c[4];
struct pair { int x; int y:7; } p[int];
BEGIN
{
	n = 0;
	x[n++] += 5;
	x[n++]++;
	x[n++] = 7;
	printf("%d %d %d %d\n", n, x[0], x[1], x[2]);
}
BEGIN
{
	n = 0;
	c[n++] += 4;
	c[n++] = 6;
	printf("%d %d %d\n", n, c[0], c[1]);
}
BEGIN
{
	n = 0;
	p[n++].x += 7;
	p[n++].y = 9;
	printf("%d %d %d\n", n, p[0].x, p[1].y);
}
BEGIN
{
	n = 0;
	at = (int *)alloca(8);
	at[0] = 5;
	at[n++] += 7;
	printf("%d %d\n", n, at[0]);
	exit(0);
}
