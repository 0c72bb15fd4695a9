/*
 * expect: -2 2 -4 -2147483648 1 0
 * expect: 9223372036854775807 18446744073709551615
 */
#pragma D option quiet
int i;
BEGIN
{
	i = 0x7fffffff;
	printf("%d %d %d %d ", -7 / 3, 8 % 3, -8 >> 1, i + 1);
	printf("%d %d\n", (1 ^^ 0), (1 ^^ 1));
	printf("%d %u\n", 0x7fffffffffffffff, 0xffffffffffffffff);
	exit(0);
}
