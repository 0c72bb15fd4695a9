/*
 * expect: 3
 * expect: END
 */
#pragma D option quiet
int n;
tick-10ms
{
	n++;
}
tick-10ms
/n == 3/
{
	printf("%d\n", n);
	exit(0);
}
END
{
	printf("END\n");
}
