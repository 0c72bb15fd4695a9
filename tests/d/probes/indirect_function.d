/*
 * needs: cc
 * needs: uprobe
 * needs: x86-64
 * compile: indirect.c
 * command: @COMPILED@
 * match: either 7 results 7
 */
#pragma D option quiet
pid$target:a.out:either:entry
{
	@entries = count();
}
pid$target:a.out:either:return
{
	@returns = count();
}
END
{
	printa("either %@d ", @entries);
	printa("results %@d\n", @returns);
}
