inline int i0 = 1;
inline int i1 = i0 + i0;
inline int i2 = i1 + i1;
inline int i3 = i2 + i2;
inline int i4 = i3 + i3;
inline int i5 = i4 + i4;
inline int i6 = i5 + i5;
inline int i7 = i6 + i6;
inline int i8 = i7 + i7;
inline int i9 = i8 + i8;
inline int i10 = i9 + i9;
inline int i11 = i10 + i10;
BEGIN { trace(i11); }
