/*
 * What waits for its commit is never cut, so each size is met.
 * expect: kept
 */
#pragma D option quiet
#pragma D option specsize=1m
BEGIN
{
	self->spec = speculation();
}
BEGIN
{
	speculate(self->spec);
	printf("kept\n");
}
BEGIN
{
	commit(self->spec);
}
BEGIN
{
	exit(0);
}
