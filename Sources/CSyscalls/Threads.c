#define _GNU_SOURCE
#include "Threads.h"

#include <pthread.h>

void sys_name_thread(const char *name) {
#ifdef __APPLE__
    (void)pthread_setname_np(name);
#else
    (void)pthread_setname_np(pthread_self(), name);
#endif
}
