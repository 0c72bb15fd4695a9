/*
 * workload: write 3 77
 * any-order
 * expect: /dev/null null /dev /dev 1 3
 * expect: <none> <none> <none> 0
 * match: root /.* cwd 1
 */
#pragma D option quiet
/* Before Linux 5.11 a key has 512 bytes at most. */
#pragma D option strsize=64
syscall::write:entry
/pid == $target && arg2 == 77/
{
	@files[fds[arg0].fi_pathname, fds[arg0].fi_name, fds[arg0].fi_dirname, fds[arg0].fi_mount,
	    fds[arg0].fi_oflags & 3] = count();
}
syscall::write:entry
/pid == $target && arg2 == 77 && !seen/
{
	seen = 1;
	printf("%s %s %s %d\n", fds[77777].fi_pathname, fds[77777].fi_name, fds[77777].fi_fs, fds[77777].fi_oflags);
	printf("root %s cwd %d\n", root, strstr(cwd, "/") == cwd && strlen(cwd) > 1);
}
END
{
	printa("%s %s %s %s %d %@d\n", @files);
}
