/*
 * needs: btf
 * match: Linux [0-9]+[.].*
 * expect: same
 */
#pragma D option quiet
BEGIN
{
	printf("%s %s\n", `utsname.sysname, `utsname.release);
	printf("%s\n", `architecture == `platform && `platform == `utsname.machine ? "same" : "others");
	exit(0);
}
