/*
 * exit: 1
 * stderr: destructive actions are not allowed
 */
BEGIN
{
	system("echo no");
	exit(0);
}
