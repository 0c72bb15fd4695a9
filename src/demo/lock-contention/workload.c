// Eight threads that map, touch and unmap memory in one address space; runs until it is killed.
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
static void *work(void *arg)
{
	long n = (long)arg;
	for (;;) {
		size_t size = (n % 2 ? 64 : 1024) << 12;
		char *p = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			return 0;
		for (size_t i = 0; i < size; i += 4096)
			p[i] = 1;
		mprotect(p, size / 2, PROT_READ);
		munmap(p, size);
		usleep(200);
	}
}
int main(void)
{
	pthread_t t[8];
	prctl(PR_SET_NAME, "mapper");
	for (long i = 0; i < 8; i++)
		pthread_create(&t[i], 0, work, (void *)i);
	pthread_join(t[0], 0);
}
