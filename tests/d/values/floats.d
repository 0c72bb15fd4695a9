/*
 * expect: 0.000000 0.00 0.000000e+00 0
 * expect: 4 8 16
 */
#pragma D option quiet
float f;
double d;
struct measured {
	char unit;
	double value;
} m;
BEGIN
{
	printf("%f %.2f %e %g\n", f, d, d, f);
	printf("%d %d %d\n", sizeof(f), sizeof(d), sizeof(m));
	exit(0);
}
