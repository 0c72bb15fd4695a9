// A cache that forgets to free the answers that expire; runs until it is killed.
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline))
static char *slots[512];
NOINLINE char *read_request(int n) { char *p = malloc(200 + n % 100); memset(p, 1, 200); return p; }
NOINLINE char *build_answer(int n) { char *p = malloc(1000 + n % 3000); memset(p, 2, 1000); return p; }
NOINLINE void expire(int slot) { slots[slot] = 0; } /* the bug: the block is not freed */
NOINLINE void replace(int slot, char *answer) { free(slots[slot]); slots[slot] = answer; }
NOINLINE void handle(int n)
{
	char *request = read_request(n);
	replace(n % 512, build_answer(n));
	if (n % 7 == 0)
		expire(n % 512);
	free(request);
}
int main(void)
{
	prctl(PR_SET_NAME, "cache");
	for (int n = 0;; n++) {
		handle(n * 31);
		usleep(1500);
	}
}
