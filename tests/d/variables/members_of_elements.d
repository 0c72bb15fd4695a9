/*
 * Members and elements of what is kept by key are written by themselves; a new key begins with zeros.
 * expect: 3 42 3 -2 77 78
 * expect: 4 5 -1 -6 abc 9
 * expect: [abc] [] 0
 */
#pragma D option quiet
struct info { uint64_t ts; uint64_t calls; long left; short s; int a[3]; int f:4; int g:5; };
struct named { string name; struct info in[2]; };
struct info i[string];
struct named m[int, string];
self struct info s;
self struct info of[int];
BEGIN
{
	i["a"].ts = 3;
	i["a"].calls++;
	++i["a"].calls;
	i["a"].calls += 40;
	i["b"].f = 3;
	i["b"].g = -2;
	i["a"].a[2] = 77;
	n = 1;
	i["a"].a[n] = 78;
	printf("%d %d %d %d %d %d\n", i["a"].ts, i["a"].calls, i["b"].f, i["b"].g, i["a"].a[2], i["a"].a[1]);
}
BEGIN
{
	self->s.ts = 4;
	self->s.a[n] = 5;
	self->s.left--;
	self->of[5].s = -6;
	m[1, "k"].name = "abc";
	m[1, "k"].in[1].calls = 9;
	printf("%d %d %d %d %s %d\n", self->s.ts, self->s.a[1], self->s.left, self->of[5].s, m[1, "k"].name,
	    m[1, "k"].in[1].calls);
}
BEGIN
{
	m[2, "k"] = m[1, "k"];
	i["a"] = 0;
	printf("[%s] [%s] %d\n", m[2, "k"].name, m[3, "k"].name, i["a"].calls);
	exit(0);
}
