/*
 * In the reference a text that was never set is NULL, and an empty one is not.
 * expect: 1 1 0
 */
#pragma D option quiet
string never;
BEGIN
{
	empty = "";
	some = "a";
	printf("%d %d %d\n", never == NULL, empty == NULL, some == NULL);
	exit(0);
}
