/*
 * Texts of more than a page.
 * expect: 8000
 */
#pragma D option quiet
#pragma D option strsize=8001
BEGIN
{
	/* 10, 100, ... bytes of text, doubled. */
	this->a = "0123456789";
	this->b = strjoin(strjoin(strjoin(this->a, this->a), strjoin(this->a, this->a)), strjoin(strjoin(this->a, this->a), strjoin(this->a, this->a)));
	this->c = strjoin(strjoin(this->b, this->b), strjoin(this->b, strjoin(this->b, this->b)));
	this->d = strjoin(strjoin(this->c, this->c), strjoin(this->c, strjoin(this->c, this->c)));
	this->e = strjoin(strjoin(this->d, this->d), strjoin(this->d, this->d));
	printf("%d\n", strlen(this->e));
	exit(0);
}
