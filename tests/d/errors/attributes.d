/*
 * flags: -xerrtags
 * exit: 1
 * stderr: [D_PRAGMA_INVAL] line 8: invalid attributes specified by #pragma attributes
 */
inline int foo

#pragma D attributes incorrect foo

BEGIN
{
	exit(0);
}
