/*
 * exit: 1
 * stderr: d_path( ) can't be used yet
 */
BEGIN
{
	trace(stringof(d_path(NULL)));
}
