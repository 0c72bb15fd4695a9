/*
 * expect: fault 1
 * expect: fault 1
 * expect: fault 1
 * expect: fault 5
 * expect: fault 10
 * stderr: out of scratch space
 * stderr: invalid size
 */
#pragma D option quiet
#pragma D option scratchsize=64
BEGIN
{
	this->p = (char *)alloca(15);
	this->p[-1] = 1;
}
BEGIN
{
	this->p = (char *)alloca(15);
	this->p[16] = 1;
}
BEGIN
{
	this->p = (char *)alloca(15);
	trace(this->p[16]);
}
BEGIN
{
	this->size = 65;
	this->p = (char *)alloca(this->size);
}
BEGIN
{
	this->p = (char *)alloca(8);
	bcopy(probename, this->p, 9);
}
BEGIN
{
	exit(0);
}
ERROR
{
	printf("fault %d\n", arg4);
}
