/*
 * flags: -Z
 * expect: 0 0
 */
#pragma D option quiet
nosuch:::probe
{
	self->began = arg0;
	@calls[args[0]->name] = count();
	total += args[1]->bytes;
}
BEGIN
{
	printf("%d %d\n", self->began, total);
	printa("%s %@d\n", @calls);
	exit(0);
}
