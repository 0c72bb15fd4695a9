/*
 * needs: bpf_loop
 * expect: 1 0 1
 */
#pragma D option quiet
BEGIN
{
	printf("%d %d %d\n", "abc" < "abx", "b" < "abx", "b" >= "a");
	exit(0);
}
