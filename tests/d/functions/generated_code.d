/*
 * Functions of a language's machine have the names that its map for profilers gives them.
 * needs: cc
 * compile: generated.c
 * command: @COMPILED@
 * match: .*made at run time\+0xb
 * loose
 */
#pragma D option quiet
syscall::getppid:entry
/pid == $target/
{
	jstack(1);
	exit(0);
}
