/*
 * What a clause speculates in one firing is printed when its own later firing commits it.
 * expect: firing 1
 * expect: firing 2
 * expect: end
 */
#pragma D option quiet
int n, spec;
BEGIN
{
	spec = speculation();
}
tick-50ms
/n < 2/
{
	speculate(spec);
	printf("firing %d\n", ++n);
}
tick-50ms
/n == 2/
{
	speculate(spec);
	n++;
	commit(spec);
}
tick-50ms
/n == 3/
{
	exit(0);
}
END
{
	printf("end\n");
}
