/*
 * expect: first
 * expect: third
 * expect: count 1
 */
#pragma D option quiet
inline int CHATTY = 1;
inline int COUNTS = 0;
BEGIN
{
	CHATTY ? printf("first\n") : printf("second\n");
	COUNTS == 1 || !CHATTY ? printf("none\n") : 1;
	COUNTS ? 1 : CHATTY ? printf("third\n") : 1;
	CHATTY ? @c["count"] = count() : 1;
	COUNTS ? @d["none"] = count() : 1;
	exit(0);
}
END
{
	printa("%s %@d\n", @c);
}
