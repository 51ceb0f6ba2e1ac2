#pragma once

#include <stdbool.h>

/// A word of the command line, the program's name first; NULL after the last one.
const char *sys_argument(int index);

/// Whether this C library tells.
bool sys_knows_arguments(void);

/// Whether the process was started so that SIGHUP has no effect on it.
bool sys_ignores_hangup(void);

/// A variable of the environment, as `NAME=value`; NULL after the last one, so ask from 0 on.
const char *sys_variable(int index);
