#pragma once

#include <stdbool.h>

/// A set of places that this thread, and those it starts later, may open files in. Landlock; Linux 5.19, the first that
/// lets files be moved between directories.
///
/// Answers a descriptor, or -errno: -ENOSYS or -EOPNOTSUPP where the kernel has no Landlock.
int sys_confinement_begin(void);

/// Allows what lies at or below `path`: reading, or everything with `writable`. Answers 0 or -errno.
int sys_confinement_allow(int set, const char *path, bool writable);

/// From now on, everything else is refused with EACCES; there is no way back. Ends `set`. Answers 0 or -errno.
int sys_confinement_enter(int set);

/// Becomes an ordinary user in all threads: groups, group, user; there is no way back. Answers 0 or -errno,
/// -ENOENT for a name that nobody has.
int sys_become(const char *user);
