/*
 * expect: bcdef cdef . c
 */
#pragma D option quiet
BEGIN
{
	text = "abcdef";
	printf("%s %s %s. %c\n", text + 1, 2 + text, text + 100, *(char *)(text + 2));
	exit(0);
}
