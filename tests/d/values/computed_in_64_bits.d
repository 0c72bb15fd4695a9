/*
 * expect: 9999999999
 * expect: 1410065407
 * expect: -1 255
 */
#pragma D option quiet
int a;
int cut;
unsigned char small;
BEGIN
{
	a = 100000;
	printf("%d\n", (long long)(a * a - 1));
	/* What is kept is cut to its type. */
	cut = a * a - 1;
	printf("%d\n", cut);
	small = -1;
	printf("%d %d\n", (signed char)small, small);
	exit(0);
}
