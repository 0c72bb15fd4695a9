/*
 * flags: -C -DNUMBER=42
 * expect: 42 1
 */
#define PRINTED(n) printf("%d %d\n", n, __SUNW_D)
#pragma D option quiet
BEGIN
{
	PRINTED(NUMBER);
	exit(0);
}
