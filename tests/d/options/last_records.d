/*
 * expect:                                       8
 * expect:                                       9
 * expect: end
 */
#pragma D option quiet
#pragma D option bufpolicy=ring
#pragma D option bufsize=120
tick-5ms
/n < 10/
{
	printf("%39d\n", n++);
}
tick-10ms
/n == 10/
{
	exit(0);
}
END
{
	printf("end\n");
}
