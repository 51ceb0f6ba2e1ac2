#pragma once

#include <stdbool.h>
#include <stdint.h>

/// A set of places that this thread, and those it starts later, may open files in. Landlock; Linux 5.19, the first that
/// lets files be moved between directories.
///
/// Answers a descriptor, or -errno: -ENOSYS or -EOPNOTSUPP where the kernel has no Landlock.
int sys_confinement_begin(void);

/// Allows what lies at or below `path`: reading, or everything with `writable`. Answers 0 or -errno.
int sys_confinement_allow(int set, const char *path, bool writable);

/// From now on, everything else is refused with EACCES; there is no way back. Ends `set`. Answers 0 or -errno.
int sys_confinement_enter(int set);

/// Says who a user is: numbers of the user and their group. Answers 0 or -errno, -ENOENT for a name that nobody has.
int sys_find_user(const char *user, uint32_t *uid, uint32_t *gid);

/// Says which groups a user is in, at most `room` of them; answers how many, 0 for a number that nobody has.
int sys_groups_of(uint32_t uid, uint32_t *groups, int room);

/// Has this thread make and open files as that user in these groups does, with no more rights than theirs, if it is one
/// of root's.
void sys_files_as(uint32_t uid, uint32_t gid, const uint32_t *groups, int count);

/// Becomes an ordinary user in all threads: groups, group, user; there is no way back. Answers 0 or -errno,
/// -ENOENT for a name that nobody has.
int sys_become(const char *user);
