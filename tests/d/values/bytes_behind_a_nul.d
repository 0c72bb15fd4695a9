/*
 * An array of characters that is taken for something else is its bytes where they lie, those behind a NUL, too.
 * needs: root
 * expect: 20001 3 20001 3
 */
#pragma D option quiet
struct pair {
	int first;
	int second;
};
BEGIN
{
	this->at = (struct sk_buff *)alloca(sizeof(struct sk_buff));
	this->pair = (struct pair *)&this->at->cb;
	this->pair->first = 0x20001;
	this->pair->second = 3;
	this->pair = (struct pair *)this->at->cb;
	printf("%x %d ", this->pair->first, this->pair->second);
	this->copy = (struct pair *)alloca(sizeof(struct pair));
	bcopy(this->at->cb, this->copy, 8);
	printf("%x %d\n", this->copy->first, this->copy->second);
	exit(0);
}
