/*
 * The kernel's names of types are known, short ones of integers, too, and so is the library's name of an address of version 6.
 * expect: 8 2 16 255 4 1
 */
#pragma D option quiet
u64 wide;
gfp_t flags;
BEGIN
{
	wide = 1;
	flags = 0x100000020;
	this->count = (atomic_t *)&curthread->usage;
	printf("%d %d %d %d %d %d\n", sizeof(wide), sizeof(__be16), sizeof(in6_addr_t), (u8)0x1ff, sizeof(flags),
	    sizeof(sector_t) == 8 && this->count->counter >= 0);
	exit(0);
}
