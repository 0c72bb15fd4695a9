/*
 * Elements and variables with an arrow are known from their first use behind an operator of one operand.
 * expect: none 3 -1
 */
#pragma D option quiet
BEGIN
/!pending["x"] && !self->seen/
{
	printf("none ");
}
BEGIN
{
	pending["x"]++;
	self->seen = -pending["x"];
}
BEGIN
/pending["x"] == 1/
{
	pending["x"] += 2;
	printf("%d %d\n", pending["x"], self->seen);
	exit(0);
}
