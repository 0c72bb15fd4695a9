/*
 * needs: linux>=6.4
 * expect: 00:01:02:03:04:05
 * expect: 127.0.0.1 ::127.0.0.1
 * expect: 4 -1 0
 * expect: /baz . ../b a/c
 * expect: 1 0
 */
#pragma D option quiet
#pragma D option strsize=32
uint64_t *link;
char *address;
BEGIN
{
	link = (uint64_t *)alloca(8);
	*link = htonll(0x000102030405 << 16);
	printf("%s\n", link_ntop(1, link));
	address = (char *)alloca(16);
	address[12] = 127;
	address[15] = 1;
	printf("%s %s\n", inet_ntoa6((void *)address), inet_ntoa6((void *)address, 1));
	exit(0);
}
END
{
	printf("%d %d %d\n", rindex("ababab", "ab"), rindex("ababab", "x"), rindex("ababab", "ab", 1));
}
END
{
	printf("%s %s ", cleanpath("/foo/../../baz/./"), cleanpath("a/.."));
	printf("%s %s\n", cleanpath("../a/../b"), cleanpath("a//b/../c/"));
	printf("%d %d\n", progenyof(pid), progenyof(-1));
}
