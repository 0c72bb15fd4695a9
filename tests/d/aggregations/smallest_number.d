/*
 * match:  *-4611686018427387904 .*@.* 3 .*
 * match:  *1 .* 1 .*
 * loose
 */
BEGIN
{
	@ = quantize(1LL << 63);
	@ = quantize(-(1LL << 63));
	@ = quantize((1LL << 63) + 1);
	@ = quantize(1);
	exit(0);
}
