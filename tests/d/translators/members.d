/*
 * expect: 42 x 84
 */
#pragma D option quiet
struct in { int i; char c; };
struct out { int twice; char letter; int same; };
translator struct out < struct in s >
{
	twice = s.i * 2;
	letter = s.c;
	same = s.i;
};
struct in from;
struct out to;
BEGIN
{
	from.i = 42;
	from.c = 'x';
	to = xlate <struct out> (from);
	printf("%d %c %d\n", xlate <struct out> (from).same, to.letter, to.twice);
	exit(0);
}
