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
	printf("%s %d %d %d\n", d_path(&this->file->f_path), d_path(&curthread->fs->root) == root,
	    d_path(&curthread->fs->pwd) == cwd, strstr(cwd, "/") == cwd);
}
