#pragma once

#include <stdbool.h>

/// A word of the command line, the program's name first; NULL after the last one.
const char *sys_argument(int index);

/// Whether this C library makes the words of the command line available.
bool sys_knows_arguments(void);

/// Whether the process was started so that SIGHUP has no effect on it.
bool sys_ignores_hangup(void);

/// Whether a signal has its default action.
bool sys_has_default_action(int signal);

/// A variable of the environment, as `NAME=value`; NULL after the last one, so call it with 0, 1, 2 and so on.
const char *sys_variable(int index);
