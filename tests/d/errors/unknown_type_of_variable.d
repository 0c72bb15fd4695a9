/*
 * flags: -xerrtags
 * exit: 1
 * stderr: [D_SYNTAX] line 6: syntax error near "nge_t": neither this kernel nor the program has a type of that name
 */
self nge_t *at;
int seen[nge_t *];
BEGIN
{
	exit(0);
}
