/*
 * flags: -xerrtags
 * exit: 1
 * stderr: [D_PRINTF_ARG_TYPE] line 12: printa( ) conversion #1 (%a) prints what lies at an address
 */
BEGIN
{
	@[arg0] = count();
}
END
{
	printa("%a\n", @);
	printa("%d\n", @);
}
