/*
 * expect: directory 7
 */
#pragma D option quiet
typedef struct kind {
	string code;
	int number;
};
translator struct kind < int T > {
	code = T == 2 ? "directory" : "other";
	number = T + 5;
};
BEGIN
{
	printf("%s %d\n", xlate <struct kind> (2).code, xlate <struct kind> (2).number);
	exit(0);
}
