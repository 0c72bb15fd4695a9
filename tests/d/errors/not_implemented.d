/*
 * exit: 1
 * stderr: progenyof( ) can't be used yet
 */
BEGIN
{
	trace(progenyof(1));
}
