/*
 * What a library's open() calls today has its arguments behind a directory.
 * workload: open /nowhere/file 3
 * expect: open64 /nowhere/file 0 2
 * expect: open64 /nowhere/file 0 2
 * expect: open64 /nowhere/file 0 2
 */
#pragma D option quiet
syscall::open:entry, syscall::open64:entry
/pid == $target && copyinstr(arg0) == "/nowhere/file"/
{
	self->path = arg0;
	self->mode = arg1 & 3;
}
syscall::open:return, syscall::open64:return
/self->path/
{
	printf("%s %s %d %d\n", probefunc, copyinstr(self->path), self->mode, errno);
	self->path = 0;
}
