/*
 * needs: rawtracepoint
 * workload: tcp 2
 * expect: 1 0 1 0 1
 * expect: sent
 */
#pragma D option quiet
BEGIN
{
	this->at = (uint32_t *)alloca(16);
	*this->at = 0x0100007f;
	here = inet_ntoa(this->at);
	this->wide = (uint8_t *)alloca(16);
	this->wide[15] = 1;
	there = inet_ntop(AF_INET6, this->wide);
	printf("%d %d %d %d %d\n", here == "127.0.0.1", here != "127.0.0.1", "::1" == there, there == "::2", here != "");
}
tcp:::send
/args[2]->ip_daddr == "127.0.0.1" && args[2]->ip_saddr != "10.0.0.1" && !seen++/
{
	printf("sent\n");
}
