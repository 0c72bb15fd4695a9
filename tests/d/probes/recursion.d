/*
 * Each call takes 2 ms and what those inside of it take.
 * needs: cc
 * needs: uprobe
 * compile: recursive.c -O1 -static
 * command: @COMPILED@
 * any-order
 * expect: descend 0: 3 calls
 * expect: descend 1: 3 calls
 * expect: descend 2: 3 calls
 * expect: descend 3: 3 calls
 * expect: descend 4: 3 calls
 * expect: nested 0: 3 calls
 * expect: nested 1: 3 calls
 * expect: nested 2: 3 calls
 * expect: nested 3: 3 calls
 * expect: too short: 0
 * expect: none is open: 3
 */
#pragma D option quiet
pid$target:a.out:descend:entry,
pid$target:a.out:nested:entry
{
	self->depth++;
	self->began[self->depth] = timestamp;
}
pid$target:a.out:descend:return,
pid$target:a.out:nested:return
{
	this->took = timestamp - self->began[self->depth];
	@calls[probefunc, arg1] = count();
	@short = sum(this->took < (arg1 + 1) * 2000000);
	self->began[self->depth] = 0;
	self->depth--;
}
pid$target:a.out:descend:return
/arg1 == 4 && self->depth == 0/
{
	@closed = count();
}
END
{
	printa("%s %d: %@d calls\n", @calls);
	printa("too short: %@d\n", @short);
	printa("none is open: %@d\n", @closed);
}
