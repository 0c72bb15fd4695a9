/*
 * flags: -xerrtags
 * exit: 1
 * stderr: [D_PDESC_ZERO] line 6: probe description :::NONE does not match any probes
 */
NONE
{
	exit(0);
}
