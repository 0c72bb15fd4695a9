/*
 * Conditions of constants are constants: sizes of arrays and widths can be computed with them.
 * expect: 4 8 1 0
 */
#pragma D option quiet
struct sized {
	char bytes[3 > 2 && 1 ? 4 : 2];
	int64_t more[(1 == 1) + !1];
};
BEGIN
{
	printf("%d %d %d %d\n", sizeof (((struct sized *)0)->bytes), sizeof (((struct sized *)0)->more), 1 || 0, -1 > 1);
	exit(0);
}
