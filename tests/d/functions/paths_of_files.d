/*
 * workload: write 3 77
 * expect: /dev/null 1 1 1
 */
#pragma D option quiet
syscall::write:entry
/pid == $target && arg2 == 77 && !seen/
{
	seen = 1;
	this->file = curthread->files->fdt->fd[arg0];
	/* The process may live below another root: its path is some path. */
	printf("%s %d %d %d\n", d_path(&this->file->f_path), strlen(d_path(&curthread->fs->root)) > 0,
	    d_path(&curthread->fs->pwd) == cwd, strstr(cwd, "/") == cwd);
}
