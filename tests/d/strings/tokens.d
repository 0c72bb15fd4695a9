/*
 * needs: bpf_loop
 * expect: a b, c. 1
 */
#pragma D option quiet
BEGIN
{
	this->list = ",a,,b c.";
	printf("%s ", strtok(this->list, ","));
	printf("%s, ", strtok(NULL, ", "));
	printf("%s ", strtok(NULL, ", "));
	printf("%d\n", strtok(NULL, ",") == NULL);
	exit(0);
}
