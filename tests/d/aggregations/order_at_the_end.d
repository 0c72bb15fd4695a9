/*
 * Aggregations are printed in the order of their first use, or in the reverse of it.
 * match:   b +2
 * match:   a +2
 * match:   d +4
 * match:   c +3
 */
#pragma D option quiet
#pragma D option aggsortrev
BEGIN
{
	@second["c"] = sum(3);
	@second["d"] = sum(4);
	@first["a"] = sum(2);
	@first["b"] = sum(2);
	exit(0);
}
