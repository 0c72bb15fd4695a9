typn;
string names[int, string];
eslf pnint_t *p;
this uint59_t q;
inline int ten = 10;
inline string n[int k] = k == 1 ? "xlate <struc; }
