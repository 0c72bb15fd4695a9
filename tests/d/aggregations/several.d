/*
 * expect: a 3 2 1
 * expect: b 10 10 1
 * expect: a 1
 * expect: b 5
 */
#pragma D option quiet
BEGIN
{
	@s["a"] = sum(1);
	@s["a"] = sum(2);
	@m["a"] = max(1);
	@m["a"] = max(2);
	@d["a"] = stddev(1);
	@d["a"] = stddev(3);
	@s["b"] = sum(10);
	@m["b"] = max(10);
	@d["b"] = stddev(4);
	@d["b"] = stddev(6);
	printa("%s %@d %@d %@d\n", @s, @m, @d);
	normalize(@s, 2);
	printa("%s %@d\n", @s);
	exit(0);
}
