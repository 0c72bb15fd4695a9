/*
 * A number of the command line ends behind its digits in a description; units are of any case.
 * args: 20
 * expect: tick-20ms
 * expect: tick-20Hz
 */
#pragma D option quiet
tick-$1ms
/!seen++/
{
	printf("%s\n", probename);
}
tick-20Hz
/seen/
{
	printf("%s\n", probename);
	exit(0);
}
