/*
 * expect: [barbazbop] [obarbazbop] [zbop] [barba] [f] []
 * expect: [barbazbop] [bazbop] [] 6 -1 3
 */
#pragma D option quiet
BEGIN
{
	s = "foobarbazbop";
	n = 3;
	printf("[%s] [%s] [%s] [%s] [%s] [%s]\n", substr(s, n), substr(s, -10), substr(s, 8, 20), substr(s, 3, -4),
	    substr(s, -24, 13), substr(s, 12));
	printf("[%s] [%s] [%s] %d %d %d\n", strchr(s, 'b'), strstr(s, "baz"), strstr(s, "none"), index(s, "b", 4),
	    index(s, "foo", 1), index(s, "b"));
	exit(0);
}
