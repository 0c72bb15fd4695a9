/*
 * loose
 * expect:         <= -1000 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@ 1        
 * expect:             -900 |                                         0        
 * expect:              -10 |                                         0        
 * expect:       abs() < 10 |@@@@@@@@@@@@@                            1        
 * expect:               10 |@@@@@@@@@@@@@                            1        
 * expect:               20 |@@@@@@@@@@@@@                            1        
 * expect:               30 |                                         0        
 */
#pragma D option quiet
BEGIN
{
	@ = llquantize(9, 10, 1, 2, 10);
	@ = llquantize(15, 10, 1, 2, 10);
	@ = llquantize(27, 10, 1, 2, 10);
	@b = llquantize(-1234, 10, 1, 2, 10);
	printa(@b);
	printa(@);
	exit(0);
}
