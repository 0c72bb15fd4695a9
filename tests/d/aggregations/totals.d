/*
 * Keys that are functions' names in one clause and another text in another.
 * workload: write 3 77
 * expect: TOTAL: 3
 * expect: write 3
 */
#pragma D option quiet
syscall::write*:entry
/pid == $target && arg2 == 77/
{
	@calls[probefunc] = count();
	@calls["TOTAL:"] = count();
}
END
{
	printa("%s %@d\n", @calls);
}
