/*
 * needs: cc
 * needs: uprobe
 * needs: linux>=5.15
 * compile: recursive.c -O1 -static
 * command: @COMPILED@
 * match: .*`nested.*
 * expect: 1 1
 * loose
 */
#pragma D option quiet
pid$target:a.out:nested:entry
{
	ufunc(uregs[R_PC]);
	printf("\n%d %d\n", ustackdepth > 0, ucaller != 0);
	exit(0);
}
