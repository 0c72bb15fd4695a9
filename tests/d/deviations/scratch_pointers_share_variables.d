/*
 * The reference refuses a variable that holds addresses of alloca() and others (D_ALLOCA_INCOMPAT).
 * expect: 1 1
 */
#pragma D option quiet
char *at;
BEGIN
{
	at = (char *)alloca(8);
	here = at != NULL;
	at = (char *)50;
	printf("%d %d\n", here, at == (char *)50);
	exit(0);
}
