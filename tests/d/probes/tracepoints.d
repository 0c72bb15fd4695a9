/*
 * needs: rawtracepoint
 * workload: getppid 5
 * expect: sdt 5 getppid
 * expect: rawtp 5
 * any-order
 */
#pragma D option quiet
sdt:raw_syscalls::sys_enter
/pid == $target && args[0] == 110/
{
	@entered[execname == "" ? "?" : "getppid"] = count();
}
rawtp:raw_syscalls::sys_exit
/pid == $target && ((struct pt_regs *)arg0)->orig_ax == 110/
{
	@left = count();
}
END
{
	printa("sdt %@d %s\n", @entered);
	printa("rawtp %@d\n", @left);
}
