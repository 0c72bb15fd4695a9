/*
 * What the firing probe is called is a text, and may be kept.
 * workload: write 3 77
 * expect: write 3
 * expect: entry 3
 * expect: both write 6
 */
#pragma D option quiet
syscall::write*:entry
/pid == $target && arg2 == 77/
{
	self->called = probefunc;
	self->counts = 1;
	@whole[probename] = count();
}
syscall::write*:return
/pid == $target && self->called == probefunc/
{
	@called[self->called] = count();
	self->called = 0;
}
syscall::write*:entry,
syscall::write*:return
/pid == $target && self->counts/
{
	@both[probefunc] = count();
}
END
{
	printa("%s %@d\n", @called);
	printa("%s %@d\n", @whole);
	printa("both %s %@d\n", @both);
}
syscall::write*:return
{
	self->counts = 0;
}
