// The names of threads, and how many the process may have.
#pragma once
#include <stdint.h>

// What the system shows this thread as; at most 15 bytes.
void sys_name_thread(const char *name);
// How many threads could be started now beside this one, the only one, if so many are wanted: none of them remains.
int32_t sys_startable_threads(int32_t wanted);
