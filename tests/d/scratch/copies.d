/*
 * expect: abc/ 3 b
 * expect: BEGIN
 * expect: 7 9
 */
#pragma D option quiet
struct pair {
	int first;
	char second;
};
BEGIN
{
	this->text = (char *)alloca(8);
	this->text[0] = 'a';
	this->text[1] = 'b';
	this->text[2] = 'c';
	this->text[3] = 0;
	printf("%s/ %d %c\n", stringof(this->text), strlen(stringof(this->text)), this->text[1]);
}
BEGIN
{
	this->to = alloca(16);
	bcopy(probename, this->to, 6);
	printf("%s\n", stringof((char *)this->to));
}
BEGIN
{
	this->pair = (struct pair *)alloca(sizeof(struct pair));
	this->pair->first = 7;
	this->pair->second = 9;
	printf("%d %d\n", this->pair->first, this->pair->second);
	exit(0);
}
