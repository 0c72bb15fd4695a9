/*
 * Of calls with fewer arguments than a clause reads, those beyond are 0; where each call has a place of its own, too.
 * workload: write 3 77
 * expect: write 3
 */
#pragma D option quiet
syscall::[rw]*:entry
/pid == $target && arg2 == 77/
{
	@[probefunc] = count();
	@stacks[stack()] = count();
}
END
{
	printa("%s %@d\n", @);
	trunc(@stacks);
}
