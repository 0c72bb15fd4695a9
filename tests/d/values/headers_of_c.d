/*
 * Functions that headers define are known, and can't be called.
 * expect: 7
 */
#pragma D option quiet
static __inline unsigned short
swapped(unsigned short word)
{
	return (word >> 8) | (word << 8);
}
static inline int
same(int number)
{
	return (number);
}
extern int elsewhere[], large[123][456][789];
struct both { int a; };
union both { int b; };

BEGIN
{
	printf("%d\n", 7);
	exit(0);
}
