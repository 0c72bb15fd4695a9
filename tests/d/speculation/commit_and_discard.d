/*
 * expect: 1 2 0
 * expect: kept 1
 * expect: kept 2
 * expect: end
 */
#pragma D option quiet
#pragma D option nspec=2
int a, b;
BEGIN
{
	a = speculation();
	b = speculation();
	printf("%d %d %d\n", a, b, speculation());
}
BEGIN
{
	speculate(a);
	printf("kept 1\n");
}
BEGIN
{
	speculate(b);
	printf("dropped\n");
}
BEGIN
{
	speculate(a);
	printf("kept 2\n");
}
BEGIN
{
	discard(b);
}
BEGIN
{
	commit(a);
}
BEGIN
{
	speculate(a);
	printf("not in use\n");
}
BEGIN
{
	exit(0);
}
END
{
	printf("end\n");
}
