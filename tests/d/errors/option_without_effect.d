/*
 * flags: -xerrtags
 * exit: 1
 * stderr: [D_PRAGMA_OPTSET] line 6: failed to set option 'bufpolicy' to 'ring': records are printed as they come
 */
#pragma D option bufpolicy=ring
BEGIN
{
	exit(0);
}
