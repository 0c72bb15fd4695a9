/*
 * flags: -xerrtags
 * exit: 1
 * stderr: [D_PRAGMA_OPTSET] line 6: failed to set option 'aggpercpu': aggregations are kept for all processors together
 */
#pragma D option aggpercpu
BEGIN
{
	exit(0);
}
