/*
 * exit: 1
 * stderr: print( ) can't be used yet
 */
BEGIN
{
	print(curthread);
}
