// Calls with the same arguments each time, for the scripts that the differential run makes.
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct inner {
    int a;
    short b;
};
struct item {
    int number;
    unsigned char small;
    signed char negative;
    long long wide;
    char name[16];
    int list[4];
    struct inner in;
    struct inner *next;
};

__attribute__((noinline)) long take(int a, unsigned b, long c, const char *text, struct item *item) {
    __asm__ volatile("" ::: "memory");
    return (long)a * 3 - b + c + text[0] + item->number;
}

int main(void) {
    unsigned long state = 7;
    static struct inner next;
    static struct item item;
    static const char *const words[] = {"alpha", "beta", "", "gamma ray", "d,e", "\"f\"", "g\\h"};
    for (int n = 0; n < 60; n++) {
        state = state * 6364136223846793005UL + 1442695040888963407UL;
        unsigned long r = state >> 20;
        next = (struct inner){(int)(r % 2000) - 1000, (short)(r >> 7)};
        item = (struct item){(int)r, (unsigned char)(r >> 3), (signed char)(r >> 5), (long long)(r * r), "", {n, -n, (int)(r >> 9), 4}, {-5, 17}, &next};
        snprintf(item.name, sizeof item.name, "item %d", n % 5);
        take((int)(r % 100) - 50, (unsigned)r, n % 3 ? (long)r : -(long)r, words[n % 7], &item);
        syscall(SYS_getpriority, n % 4, (int)(r % 7) - 1);
    }
    return 0;
}
