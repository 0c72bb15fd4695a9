/*
 * expect: 5 6 7 9
 * expect: 0 0
 */
#pragma D option quiet
int seen;
self int mine;
BEGIN
{
	seen = 5;
	self->mine = seen + 1;
	this->here = 7;
	names["a", 1] = 9;
}
BEGIN
{
	printf("%d %d %d %d\n", seen, self->mine, this->here, names["a", 1]);
	self->mine = 0;
	names["a", 1] = 0;
	printf("%d %d\n", self->mine, names["a", 1]);
	exit(0);
}
