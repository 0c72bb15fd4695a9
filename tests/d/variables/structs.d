/*
 * expect: 3 4 -2 9
 */
#pragma D option quiet
struct point { int x; int y; struct { short s; } inner; };
struct point p;
int a[4];
BEGIN
{
	p.x = 3;
	p.y = p.x + 1;
	p.inner.s = -2;
	a[2] = 9;
	printf("%d %d %d %d\n", p.x, p.y, p.inner.s, a[2]);
	exit(0);
}
