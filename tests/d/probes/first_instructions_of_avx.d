/*
 * needs: cc
 * needs: uprobe
 * needs: x86-64
 * compile: vectors.c -O1 -g
 * command: @COMPILED@
 * match: right 35 of 35
 * match: behind 5 results 7
 */
#pragma D option quiet
pid$target:a.out:behind:entry
{
	@entries = count();
}
pid$target:a.out:behind:return
{
	@returns = max(arg1);
}
END
{
	printa("behind %@d ", @entries);
	printa("results %@d\n", @returns);
}
