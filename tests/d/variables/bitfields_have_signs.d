/*
 * expect: -1 7 -2
 */
#pragma D option quiet
struct bits {
	int a : 3;
	unsigned b : 3;
	int c : 9;
} bits;
BEGIN
{
	bits.a = 7;
	bits.b = 7;
	bits.c = 0x1fe;
	printf("%d %d %d\n", bits.a, bits.b, bits.c);
	exit(0);
}
