/*
 * exit: 1
 * stderr: Destructive actions not allowed
 */
BEGIN
{
	system("echo no");
	exit(0);
}
