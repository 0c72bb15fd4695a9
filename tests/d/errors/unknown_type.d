/*
 * flags: -xerrtags
 * exit: 1
 * stderr: [D_SYNTAX] line 9: syntax error near "conn_t": neither this kernel nor the program has a type of that name
 */
BEGIN
{
	x = 1;
	y = ((conn_t *)arg0)->conn_lport;
	exit(0);
}
