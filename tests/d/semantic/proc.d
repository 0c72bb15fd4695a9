/*
 * workload: spawn 3 7
 * any-order
 * expect: create 3
 * expect: exec /bin/sh 3
 * expect: exit 1 sh 3
 * expect: start 3
 * match: success \S*sh -c exit 7 3
 */
#pragma D option quiet
proc:::create
/pid == $target/
{
	@made["create"] = count();
}
proc:::start
/ppid == $target/
{
	@made["start"] = count();
}
proc:::exec
/ppid == $target/
{
	@asked[args[0]] = count();
}
proc:::exec-success
/curpsinfo->pr_ppid == $target && curpsinfo->pr_fname == "sh"/
{
	@run[curpsinfo->pr_psargs] = count();
}
proc:::exit
/curpsinfo->pr_ppid == $target/
{
	@ended[args[0], execname] = count();
}
END
{
	printa("%s %@d\n", @made);
	printa("exec %s %@d\n", @asked);
	printa("success %s %@d\n", @run);
	printa("exit %d %s %@d\n", @ended);
}
