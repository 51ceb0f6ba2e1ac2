#pragma once

#include <stdbool.h>
#include <stdint.h>

/// Creates a set of paths at or below which this thread, and those it starts later, may open files. Uses Landlock;
/// needs Linux 5.19, the first that lets files be moved between directories.
///
/// Returns a descriptor, or -errno: -ENOSYS or -EOPNOTSUPP if the kernel has no Landlock.
int sys_confinement_begin(void);

/// Allows what lies at or below `path`: reading, or everything with `writable`. Returns 0 or -errno.
int sys_confinement_allow(int set, const char *path, bool writable);

/// From now on, everything else is refused with EACCES; there is no way back. Closes `set`. Returns 0 or -errno.
int sys_confinement_enter(int set);

/// Looks up the numbers of a user and their group. Returns 0 or -errno, -ENOENT for an unknown name.
int sys_find_user(const char *user, uint32_t *uid, uint32_t *gid);

/// Lists the groups that a user is in, at most `room` of them; returns their number, 0 for an unknown user.
int sys_groups_of(uint32_t uid, uint32_t *groups, int room);

/// Makes this thread create and open files as that user in these groups, with no more rights than theirs, if the thread
/// runs as root.
void sys_files_as(uint32_t uid, uint32_t gid, const uint32_t *groups, int count);

/// Becomes an ordinary user in all threads: groups, group, user; there is no way back. Returns 0 or -errno, -ENOENT for
/// an unknown name.
int sys_become(const char *user);
