/*
 * flags: -Z
 * expect: 0 0
 */
#pragma D option quiet
nowhere::absent:entry, BEGIN, tick-5ms
{
	runs++;
}
nowhere::absent:entry
{
	allocated++;
	self->depth = 1;
}
BEGIN, tick-5ms
/runs > 1/
{
	printf("%d %d\n", allocated, self->depth);
	exit(0);
}
