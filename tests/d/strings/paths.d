/*
 * expect: baz /foo/bar /
 * expect: c/b.c 3.c
 * expect: -42 9223372036854775807
 * expect: a b, c.
 * expect: 1 0 1 1
 */
#pragma D option quiet
BEGIN
{
	printf("%s %s %s\n", basename("/foo/bar///baz/"), dirname("/foo/bar/baz"), dirname("/x"));
	printf("%s %d%s\n", strchr("a/c/b.c", 'c'), strlen(strrchr("a.b.cd", '.')), ".c");
	printf("%s %s\n", lltostr(-42), lltostr(0x7fffffffffffffff));
	this->list = ",a,,b c.";
	printf("%s ", strtok(this->list, ","));
	printf("%s, ", strtok(NULL, ", "));
	printf("%s\n", strtok(NULL, ", "));
	printf("%d %d %d %d\n", "abc" < "abx", "b" < "abx", "b" >= "a", strtok(NULL, ",") == NULL);
	exit(0);
}
