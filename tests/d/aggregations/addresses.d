/*
 * A key that all formats print by %a is what lies at the address, with the distance from its begin; so is a value.
 * match: printed [a-z0-9_]+`[A-Za-z0-9_.]+(\+0x[0-9a-f]+)?
 * match: counted [a-z0-9_]+`[A-Za-z0-9_.]+(\+0x[0-9a-f]+)? 1
 */
#pragma D option quiet
profile:::profile-997
/arg0 != 0 && !seen++/
{
	@[arg0] = count();
	printf("printed %a\n", arg0);
	printa("counted %a %@d\n", @);
	exit(0);
}
