/*
 * A command gets the bytes of its text, those that are no UTF-8 among them.
 * flags: -w
 * match:  *c0 a8 21.*
 */
#pragma D option quiet
BEGIN
{
	system("printf '%%s' '\xc0\xa8!' | od -An -tx1");
	exit(0);
}
