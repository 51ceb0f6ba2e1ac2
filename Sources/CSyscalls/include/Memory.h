#pragma once

#include <stddef.h>

/// Gives back the pages of programs and libraries that this process has mapped for reading only: the kernel still has
/// them, and what is used again comes back page by page. Most of what a start needs is never needed again.
void sys_forget_code(void);

/// Has the C library give large blocks back to the system as soon as they are free, however large the blocks before
/// them were: otherwise the lists of a few large folders stay with the process for good. To be called before there are
/// threads.
void sys_give_back_large_blocks(void);

/// Gives back what the C library holds free, in whichever of its arenas, where it is more than `bytes`: otherwise what
/// one busy minute took stays with the process for good.
void sys_give_back_free_memory(size_t bytes);
