/*
 * exit: 1
 * stderr: strtok( ) can't be used yet
 */
BEGIN
{
	trace(strtok("a b", " "));
}
