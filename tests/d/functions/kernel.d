/*
 * needs: kprobe
 * needs: btf
 * workload: getppid 10
 * expect: entry of 1
 * expect: return of 1
 */
#pragma D option quiet
#pragma D option zdefs
int entered, left;
fbt::__x64_sys_getppid:entry,
fbt::__arm64_sys_getppid:entry
/pid == $target && !entered/
{
	printf("entry of %d\n", args[0] != NULL);
	entered = 1;
}
fbt::__x64_sys_getppid:return,
fbt::__arm64_sys_getppid:return
/pid == $target && !left/
{
	printf("return of %d\n", arg1 > 0);
	left = 1;
}
