/*
 * exit: 1
 * flags: -xbufsize=8
 * stderr: could not enable tracing: Enabling exceeds size of buffer
 */
BEGIN
{
	exit(0);
}
