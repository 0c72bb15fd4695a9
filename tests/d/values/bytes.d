/*
 * expect:              0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f  0123456789abcdef
 * expect:          0: 34 12 61 00                                      4.a.
 * expect: 
 * expect:              0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f  0123456789abcdef
 * expect:          0: 61 62                                            ab
 */
#pragma D option quiet
struct pair {
	short number;
	char letter;
} p;
char *text;
BEGIN
{
	p.number = 0x1234;
	p.letter = 'a';
	trace(p);
	text = (char *)alloca(4);
	text[0] = 'a';
	text[1] = 'b';
	tracemem(text, 2);
	exit(0);
}
