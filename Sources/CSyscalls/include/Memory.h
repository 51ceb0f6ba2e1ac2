#pragma once

#include <stddef.h>

/// Gives back the pages of programs and libraries that this process has mapped for reading only: the kernel still has
/// them, and those that are used again come back page by page. Most of what a start needs is never needed again.
void sys_forget_code(void);

/// Makes the C library give large blocks back to the system as soon as they are free, however large earlier blocks
/// were: otherwise the lists of a few large folders stay with the process for good. To be called before there are
/// threads.
void sys_give_back_large_blocks(void);

/// Gives back the free memory that the C library holds in all its arenas, if it is more than `bytes`: otherwise what
/// one busy minute took stays with the process for good.
void sys_give_back_free_memory(size_t bytes);
