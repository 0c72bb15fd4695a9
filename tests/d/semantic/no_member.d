/*
 * flags: -xerrtags
 * exit: 1
 * stderr: [D_TYPE_MEMBER] line 8: b_nothing is not a member of bufinfo_t
 */
io:::start
{
	trace(args[0]->b_nothing);
}
