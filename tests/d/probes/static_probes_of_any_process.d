/*
 * needs: cc
 * needs: uprobe
 * compile: static_probes.c -O1 -static
 * command: @COMPILED@
 * expect: made step-done 30
 */
#pragma D option quiet
#pragma D option strsize=64
mad*:::step-*
{
	@[probeprov, probename] = sum(arg0);
}
END
{
	printa("%s %s %@d\n", @);
}
