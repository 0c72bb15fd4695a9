/*
 * flags: -xerrtags
 * exit: 1
 * stderr: [D_PDESC_ZERO] line 6: pid0 is no process: it is -c or -p that gives $target one
 */
pid$target::main:entry
{
	exit(0);
}
