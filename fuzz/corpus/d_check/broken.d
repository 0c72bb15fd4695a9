BEGIN { x = ; y = (1; z = a[; @ = ; }
struct { int ;
tick-1 /x { if (y) 099 1.5 'ab
