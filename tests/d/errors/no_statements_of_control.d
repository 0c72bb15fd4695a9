/*
 * flags: -xerrtags
 * exit: 1
 * stderr: [D_SYNTAX] line 8: syntax error near "if": D has no such statement; a predicate
 */
BEGIN
{
	if (pid == 1) trace(1);
	exit(0);
}
