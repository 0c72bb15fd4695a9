/*
 * expect: 0 0 0
 * expect: 1 1
 */
#pragma D option quiet
cpuinfo_t *processor;
BEGIN
{
	printf("%d %d %d\n", stackdepth, (int)caller, (int)ucaller);
	processor = curcpu;
	i = timestamp;
	j = timestamp;
	printf("%d %d\n", processor->cpu_id == cpu, i == j);
	exit(0);
}
