/*
 * needs: bpf_loop
 * expect: c/b.c 3.c
 * expect: -42 9223372036854775807
 */
#pragma D option quiet
BEGIN
{
	printf("%s %d%s\n", strchr("a/c/b.c", 'c'), strlen(strrchr("a.b.cd", '.')), ".c");
	printf("%s %s\n", lltostr(-42), lltostr(0x7fffffffffffffff));
	exit(0);
}
