/*
 * flags: -xerrtags
 * exit: 1
 * stderr: [D_IDENT_UNDEF] line 8: failed to resolve nothing
 */
BEGIN
{
	trace(nothing);
}
