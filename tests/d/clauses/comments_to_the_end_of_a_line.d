/*
 * expect: 3
 */
// A program's head.
#pragma D option quiet
BEGIN // the probe
/1 == 1/ // its predicate
{
	x = 6 / 2; // division
	printf("%d\n", x); // "text"
	exit(0);
}
// The end.
