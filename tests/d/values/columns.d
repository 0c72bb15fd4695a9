/*
 * match:  *CPU +ID +FUNCTION:NAME
 * match:  *\d+ +1 +:BEGIN +-1 +7  a +
 * stderr: matched 1 probe
 */
BEGIN
{
	trace(-1);
	trace(7);
	trace("a");
	exit(0);
}
