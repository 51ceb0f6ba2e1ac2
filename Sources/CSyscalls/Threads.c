#define _GNU_SOURCE
#include "Threads.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

void sys_name_thread(const char *name) {
#ifdef __APPLE__
    (void)pthread_setname_np(name);
#else
    (void)pthread_setname_np(pthread_self(), name);
#endif
}

static void *wait_at(void *gate) {
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

int32_t sys_startable_threads(int32_t wanted) {
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_t *threads = calloc((size_t)wanted, sizeof *threads);
    if (threads == NULL) return 0;
    pthread_mutex_lock(&gate);
    int32_t count = 0;
    while (count < wanted && pthread_create(&threads[count], NULL, wait_at, &gate) == 0) count++;
    pthread_mutex_unlock(&gate);
    for (int32_t index = 0; index < count; index++) pthread_join(threads[index], NULL);
    free(threads);
#ifdef __linux__
    // The system goes on to count a thread for a moment after it has ended.
    struct stat tasks;
    for (int tries = 0; tries < 100 && stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink > 3; tries++) usleep(50);
#endif
    return count;
}
