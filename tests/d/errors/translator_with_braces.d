/*
 * flags: -xerrtags
 * exit: 1
 * stderr: [D_DECL_TYPERED] line 10: type redeclared: struct out
 */
struct in { int a; };
struct out { int b; };

/* What follows is read as the struct's definition. */
translator struct out
{
	struct in *i
}
