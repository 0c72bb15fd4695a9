/*
 * expect: b 1
 * expect: a 2
 * expect: a 2
 * expect: b 1
 * stderr: couldn't set option "strsize" to "8": Operation illegal when tracing is active
 * stderr: couldn't set option "nonsense" to "1": Invalid option name
 */
#pragma D option quiet
BEGIN
{
	@["a"] = sum(2);
	@["b"] = sum(1);
	printa("%s %@d\n", @);
	setopt("aggsortkey");
	printa("%s %@d\n", @);
	setopt("strsize", "8");
	setopt("nonsense");
	exit(0);
}
