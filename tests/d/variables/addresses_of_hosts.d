/*
 * needs: rawtracepoint
 * workload: tcp 2
 * expect: 127.0.0.1 127.0.0.1 1
 * expect: 127.0.0.1 alone
 */
#pragma D option quiet
BEGIN
{
	this->at = (uint32_t *)alloca(4);
	*this->at = 0x0100007f;
	self->alone = inet_ntoa(this->at);
	alone = self->alone;
	self->alone = 0;
}
tcp:::send
/args[3]->tcps_rport != 0/
{
	this->from = args[2]->ip_saddr;
	to[args[4]->tcp_sport] = args[2]->ip_daddr;
	@packets[this->from, to[args[4]->tcp_sport]] = count();
}
END
{
	normalize(@packets, 1000000);
	printa("%s %s ", @packets);
	printf("1\n%s alone\n", alone);
}
