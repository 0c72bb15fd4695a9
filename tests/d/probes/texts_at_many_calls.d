/*
 * needs: bpf_loop
 * workload: write 3 77
 * expect: write 3
 */
#pragma D option quiet
syscall:::entry
/pid == $target && arg2 == 77/
{
	this->called = strjoin("/", probefunc);
	@[basename(this->called)] = count();
}
END
{
	printa("%s %@d\n", @);
}
