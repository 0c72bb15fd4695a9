/*
 * A star takes its number from the key.
 * expect: -->       200<--
 * expect: -->100       <--
 */
#pragma D option quiet
BEGIN
{
	@right[10, 200] = sum(1);
	@left[-10, 100] = sum(1);
	printa("-->%*d<--\n", @right);
	printa("-->%*d<--\n", @left);
	exit(0);
}
END
{
	clear(@right);
	clear(@left);
}
