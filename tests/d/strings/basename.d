/*
 * needs: bpf_loop
 * expect: baz b
 */
#pragma D option quiet
BEGIN
{
	printf("%s %s\n", basename("/foo/bar///baz/"), basename("b"));
	exit(0);
}
