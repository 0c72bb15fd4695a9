typedef struct point { int x : 3, y; struct { char *name; } inner; unsigned long long a[3][4]; } point_t;
union u { int8_t a; long b; };
enum colour { RED, GREEN = 4, BLUE = 'b' };
int (*f)(int, ...);
string names[int, string];
self point_t *p;
this uint64_t q;
inline int ten = 10;
inline string n[int k] = k == 1 ? "a\tb" : "\x41\101";
struct o { int x; };
translator struct o < struct point *p > { x = p->y; };
provider p { probe a(int, char *); };
BEGIN { c = *(char **)p++; d = offsetof(point_t, y); e = sizeof (struct point *) + sizeof d; e <<= 2; f ^^ g; xlate <struct o *>(p)->x; }
