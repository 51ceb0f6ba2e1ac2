#pragma once

#include <stdbool.h>

// The number of descriptors that the calls here have open, within the limit of sys_limit_open_files.

/// Counts descriptors that are about to be opened: before the call, so that no file is created for which there is none
/// left. Returns false, having counted none, if there are too few.
bool sys_count_open_files(int number);

/// Counts descriptors that were closed otherwise than by sys_close, or could not be opened.
void sys_count_closed_files(int number);
