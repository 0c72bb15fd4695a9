/*
 * expect: 42 0x2a 052 [   42] [42   ] text A%
 * expect: 4294967295 -1 65535
 * exit: 3
 */
#pragma D option quiet
BEGIN
{
	printf("%d 0x%x 0%o [%5d] [%-5d] %s %c%%\n", 42, 42, 42, 42, 42, "text", 65);
	x = (short)-1;
	printf("%u %d %u\n", -1, x, (unsigned short)x);
	exit(3);
}
