/*
 * match:   x +1
 * match:   y +2
 */
#pragma D option quiet
BEGIN
{
	@["y"] = count();
	@["y"] = count();
	@["x"] = count();
	exit(0);
}
