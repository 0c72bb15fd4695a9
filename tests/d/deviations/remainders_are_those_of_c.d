/*
 * The reference gives remainders the sign of the quotient: -4, -4, 4.
 * expect: 4 -4 -4
 */
#pragma D option quiet
BEGIN
{
	x = 19;
	y = 5;
	printf("%d %d %d\n", x % -y, -x % y, -x % -y);
	exit(0);
}
