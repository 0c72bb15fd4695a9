/*
 * expect: c|bc|abc|/|
 */
#pragma D option quiet
BEGIN
{
	this->text = "abc";
	this->length = strlen(this->text);
	printf("%s|%s|%s|", this->text + this->length - 1, this->text + 2 - 1, this->text + 1 - 1);
	this->path = "/tmp/";
	printf("%s|\n", *(char *)(this->path + strlen(this->path) - 1) == '/' ? "/" : "none");
	exit(0);
}
