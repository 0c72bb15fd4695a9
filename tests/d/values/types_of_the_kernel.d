/*
 * The kernel's short names of integers are types, and so is the library's name of an address of version 6.
 * expect: 8 2 16 255
 */
#pragma D option quiet
u64 wide;
BEGIN
{
	wide = 1;
	printf("%d %d %d %d\n", sizeof(wide), sizeof(__be16), sizeof(in6_addr_t), (u8)0x1ff);
	exit(0);
}
