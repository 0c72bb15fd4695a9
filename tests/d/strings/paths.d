/*
 * needs: bpf_loop
 * expect: /foo/bar /
 */
#pragma D option quiet
BEGIN
{
	printf("%s %s\n", dirname("/foo/bar/baz"), dirname("/x"));
	exit(0);
}
