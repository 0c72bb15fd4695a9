/*
 * Names that DTrace's library gives states and flags of TCP.
 * expect: state-syn-sent state-closed <unknown> 18 20
 */
#pragma D option quiet
BEGIN
{
	state = 7;
	printf("%s %s %s %d %d\n", tcp_state_string[TCP_STATE_SYN_SENT], tcp_state_string[state++],
	    tcp_state_string[state + 90], TH_SYN | TH_ACK, TCP_MIN_HEADER_LENGTH);
	exit(0);
}
