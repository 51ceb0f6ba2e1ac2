#pragma once

/// Gives back the pages of programs and libraries that this process has mapped for reading only: the kernel still has them,
/// and what is used again comes back page by page. Most of what a start needs is never needed again.
void sys_forget_code(void);
