/*
 * exit: 1
 * stderr: Destructive actions not allowed
 */
BEGIN
{
	stop();
}
