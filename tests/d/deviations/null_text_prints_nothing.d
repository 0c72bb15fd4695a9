/*
 * In the reference trace() of a text that was never set is a fault (invalid address).
 * expect: []
 */
#pragma D option quiet
string never;
BEGIN
{
	printf("[");
	trace(never);
	printf("]\n");
	exit(0);
}
ERROR
{
	printf("fault\n");
}
