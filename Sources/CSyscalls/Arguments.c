#define _GNU_SOURCE
#include "include/Arguments.h"

#include <signal.h>
#include <stdlib.h>

#if defined(__GLIBC__) || defined(__APPLE__)
static int words;
static char **first;

// These C libraries pass a constructor the arguments of main, before anything else of the program runs.
__attribute__((constructor)) static void keep(int count, char **values) {
    words = count;
    first = values;
}

const char *sys_argument(int index) { return index >= 0 && index < words ? first[index] : NULL; }
bool sys_knows_arguments(void) { return first != NULL; }
#else
const char *sys_argument(int index) {
    (void)index;
    return NULL;
}
bool sys_knows_arguments(void) { return false; }
#endif

extern char **environ;

const char *sys_variable(int index) { return environ != NULL ? environ[index] : NULL; }

bool sys_ignores_hangup(void) {
    struct sigaction now;
    return sigaction(SIGHUP, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

bool sys_has_default_action(int signal) {
    struct sigaction now;
    return sigaction(signal, NULL, &now) == 0 && now.sa_handler == SIG_DFL;
}
