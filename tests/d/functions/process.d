/*
 * needs: cc
 * needs: uprobe
 * compile: recursive.c -O1 -static
 * command: @COMPILED@
 * expect:   nested  return  3
 * expect:   descend  entry  15
 * expect:   nested  entry  12
 * any-order
 * loose
 */
#pragma D option quiet
pid$target:a.out:nested:entry,
pid$target:a.out:descend:entry
{
	@calls[probefunc, probename] = count();
}
pid$target:a.out:nested:return
/arg1 == 3/
{
	@calls[probefunc, probename] = count();
}
END
{
	printa("  %s  %s  %@d\n", @calls);
}
