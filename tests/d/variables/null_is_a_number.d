/*
 * NULL is the number 0: what holds addresses as numbers is emptied by it, and pointers and texts are.
 * expect: 0 1 1 4
 */
#pragma D option quiet
BEGIN
{
	self->buf = arg1;
	self->buf = NULL;
	p = (int *)alloca(4);
	p = NULL;
	s = "a";
	s = NULL;
	printf("%d %d %d %d\n", self->buf, p == NULL, s == NULL, sizeof(NULL));
	exit(0);
}
