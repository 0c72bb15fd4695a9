/*
 * needs: tracepoint:lock:contention_begin
 * workload: mutex
 * loose
 * any-order
 * expect: slept 1 1
 * expect: gave up 1 -4
 */
#pragma D option quiet
lockstat:::adaptive-block
/execname == "head" && arg0 != 0 && arg1 > 10000000/
{
	slept = 1;
	mutex = arg0;
}
lockstat:::adaptive-acquire-error
/execname == "head"/
{
	given_up = 1;
	error = args[1];
	same = arg0;
}
END
{
	printf("\nslept %d %d\n", slept, mutex == same);
	printf("gave up %d %d\n", given_up, error);
}
