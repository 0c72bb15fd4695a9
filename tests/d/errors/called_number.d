/*
 * flags: -xerrtags
 * exit: 1
 * stderr: [D_FUNC_IDENT] line 8
 */
BEGIN
{
	@ = tick-1();
	exit(0);
}
