// The names of threads.
#pragma once

// What the system shows this thread as; at most 15 bytes.
void sys_name_thread(const char *name);
