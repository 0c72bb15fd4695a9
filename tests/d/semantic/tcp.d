/*
 * workload: tcp 2
 * expect: connect 127.0.0.1 2
 * expect: syn 127.0.0.1 127.0.0.1 1
 */
#pragma D option quiet
tcp:::connect-request
/pid == $target/
{
	@asked[args[3]->tcps_raddr] = count();
}
tcp:::send
/args[4]->tcp_flags == 2 && args[3]->tcps_rport != 0/
{
	@syn[args[2]->ip_saddr, args[2]->ip_daddr] = count();
}
END
{
	normalize(@syn, 2);
	printa("connect %s %@d\n", @asked);
	printa("syn %s %s %@d\n", @syn);
}
