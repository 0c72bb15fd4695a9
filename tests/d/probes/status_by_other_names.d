/*
 * Calls of one number are `stat`, `lstat` and `fstat` by their flags, when they begin and when they return.
 * needs: linux>=5.15
 * workload: status /nowhere/file
 * expect: lstat64 /nowhere/file 2 of 2
 * expect: stat /nowhere/file 2 of 2
 * expect: files true
 */
#pragma D option quiet
syscall::stat:entry, syscall::stat64:entry, syscall::lstat64:entry
/pid == $target && arg0 != 0 && copyinstr(arg0) == "/nowhere/file"/
{
	self->path = arg0;
	@begun[probefunc, copyinstr(arg0)] = count();
}
syscall::stat:return, syscall::stat64:return, syscall::lstat64:return
/self->path && errno == 2/
{
	@over[probefunc, copyinstr(self->path)] = count();
	self->path = 0;
}
syscall::fstat:entry
/pid == $target && arg0 < 1024 && arg1 > 1048576/
{
	self->open = 1;
}
syscall::fstat:return
/self->open && arg0 == 0/
{
	files++;
	self->open = 0;
}
END
{
	printa("%s %s %@d of %@d\n", @begun, @over);
	printf("files %s\n", files >= 2 ? "true" : "false");
}
