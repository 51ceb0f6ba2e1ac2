// The system calls that Swift's C library overlays lack or cannot call (variadic ones), and those whose errors the
// sandbox must tell apart. Those that return a descriptor, a count or an int return -errno instead of -1, and are
// repeated after EINTR; those that a system lacks return -ENOSYS, so every caller needs a fallback anyway. Of macOS's
// numbers, ENOTSUP is returned as EOPNOTSUPP and ENOATTR as ENODATA, as on Linux. The descriptors that they open are
// closed in programs that this one starts.
//
// Besides: what a file system can do (sys_is_shared, sys_is_far, sys_names_kind, sys_tells_holes,
// sys_likes_allocation), clocks, and patterns of names.
//
// Error numbers, open flags, types of directory records and limits come with it, so that a caller that uses the C
// library only through this header imports nothing else.
#pragma once
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "Arguments.h"
#include "Sockets.h"
#include "Confinement.h"
#include "Memory.h"
#include "Pipes.h"
#include "Threads.h"
#include "DirectWrites.h"

// The result of one statx, in the same form on every system.
struct sys_attributes {
    uint32_t mode;
    uint32_t links;
    uint32_t owner;
    uint32_t group;
    uint64_t size;
    uint64_t blocks;  // of 512 bytes each
    uint64_t inode;
    uint64_t device;
    int64_t modified, changed, accessed, born;
    uint32_t modified_ns, changed_ns, accessed_ns, born_ns;
    uint32_t has_birth;
    uint32_t is_mount_root;
    uint64_t mount;  // the id of its mount; 0 if unknown
};

struct sys_space {
    uint64_t available;  // bytes that an ordinary user can still write
    uint64_t used;
    uint32_t is_known;  // 0 if the file system does not report it: some FUSE ones, tmpfs without a limit
};

// Flags whose values differ by system or that need _GNU_SOURCE.
extern const int sys_o_path;       // O_PATH; where it is missing, as it is but open for reading
extern const int sys_o_tmpfile;    // O_TMPFILE; 0 where missing
extern const int sys_o_noatime;    // O_NOATIME; 0 where missing
extern const uint64_t sys_resolve_beneath;
extern const uint64_t sys_resolve_no_symlinks;
extern const uint64_t sys_resolve_no_magiclinks;
extern const uint64_t sys_resolve_cached;
extern const uint64_t sys_resolve_no_mounts;
extern const unsigned sys_rename_noreplace;
extern const unsigned sys_rename_exchange;
extern const unsigned sys_sync_write;  // start write-back of a range, do not wait
extern const unsigned sys_sync_wait;   // write a range back and wait for it (not for the journal or the device's cache)

// From now on the calls here that would open more descriptors than this return -EMFILE: the rest is for sockets, and
// for libraries that end the process when they cannot open one. Descriptors that other calls opened do not count.
void sys_limit_open_files(int most);
// Whether a quarter of these descriptors is free. To be asked before a descriptor is kept for as long as a slow peer
// takes, so that short work always finds one, however many slow peers there are.
bool sys_may_keep_open(void);
int sys_openat2(int directory, const char *path, int flags, unsigned mode, uint64_t resolve);
int sys_openat(int directory, const char *path, int flags, unsigned mode);
// Opens once more what a descriptor (also an O_PATH one) stands for; on macOS, a file for reading only.
int sys_reopen(int descriptor, int flags);
int sys_dup(int descriptor);
int sys_close(int descriptor);
// Returns what closing the file would return; it stays open.
int sys_flush(int descriptor);
// Makes `descriptor` refer to the open file of `other`, atomically; both stay open.
int sys_replace(int descriptor, int other);

int sys_statat(int directory, const char *name, struct sys_attributes *out);  // never follows a link
int sys_fstat(int descriptor, struct sys_attributes *out);
// The same as this kernel knows it, without asking a FUSE program or another machine.
int sys_statat_now(int directory, const char *name, struct sys_attributes *out);
int sys_fstat_now(int descriptor, struct sys_attributes *out);
int sys_stat(const char *path, struct sys_attributes *out);  // follows links; for files outside the share
int sys_space(int descriptor, struct sys_space *out);
// Whether other hosts may change the files without this kernel's knowledge.
int sys_is_shared(int descriptor);
// Whether a FUSE program or another machine is asked about the files, even for what this kernel knows already.
int sys_is_far(int descriptor);
// Whether the system's table of mounts, open as `mounts`, has changed since the last call; never waits.
int sys_has_changed(int mounts);
// A device number in the form that sys_attributes has.
uint64_t sys_device(unsigned major, unsigned minor);
// How a directory compares names: byte by byte; taking some different ones for equal; or unknown, for instance because
// the descriptor is not open for reading.
extern const int sys_names_apart, sys_names_confused, sys_names_unknown;
int sys_names_kind(int directory);

ssize_t sys_read(int descriptor, void *buffer, size_t count);
ssize_t sys_pread(int descriptor, void *buffer, size_t count, int64_t offset);
// Reads only from the page cache; -EAGAIN when the disk would have to be waited for.
ssize_t sys_pread_nowait(int descriptor, void *buffer, size_t count, int64_t offset);
ssize_t sys_write(int descriptor, const void *buffer, size_t count);
ssize_t sys_pwrite(int descriptor, const void *buffer, size_t count, int64_t offset);
ssize_t sys_recv(int socket, void *buffer, size_t count);  // never waits
ssize_t sys_copy_range(int source, int64_t *source_offset, int target, int64_t *target_offset, size_t count);
int sys_clone(int source, int target);
int sys_truncate(int descriptor, int64_t size);
// 1 if holes are reported reliably: ZFS before 2.1.14 and 2.2.2 takes data written a moment ago for holes.
int sys_tells_holes(int descriptor);
// Returns the offset of the first bytes at or after `offset` that are not in a hole, and sets `end` to where they end;
// -ENXIO after the last. Moves the descriptor's own position.
int64_t sys_next_data(int descriptor, int64_t offset, int64_t *end);
int sys_allocate(int descriptor, int64_t offset, int64_t count);  // a shorter file grows to the end of the range
int sys_likes_allocation(int descriptor);  // 1 if writing into allocated blocks is cheaper
// Waits until everything written to the descriptor's file system is on its disk.
int sys_sync_all(int descriptor);
int sys_sync_range(int descriptor, int64_t offset, int64_t count, unsigned flags);
// What has to be synced so that a file's bytes are on the disk before a later change of its name is.
enum sys_ordering { sys_ordered_by_file, sys_ordered_by_range, sys_ordered_by_all };
enum sys_ordering sys_ordering(int descriptor);
// Whether all names of a directory are on the disk after sys_fsync of it.
int sys_keeps_names(int descriptor);
int sys_fsync(int descriptor);
int sys_fdatasync(int descriptor);
int sys_will_need(int descriptor, int64_t offset, int64_t count);
// 1 if every cached page of a range is on the disk, 0 if not; -ENOSYS if that is unknown.
int sys_is_written_back(int descriptor, int64_t offset, int64_t count);
// Drops the pages of a range that are on the disk from the page cache.
int sys_will_not_need(int descriptor, int64_t offset, int64_t count);

int sys_renameat(int from_directory, const char *from, int to_directory, const char *to);
int sys_renameat2(int from_directory, const char *from, int to_directory, const char *to, unsigned flags);
int sys_linkat(int from_directory, const char *from, int to_directory, const char *to);
// Gives an open unnamed file its first name; never replaces.
int sys_link_descriptor(int descriptor, int to_directory, const char *to);
int sys_symlinkat(const char *target, int directory, const char *name);
ssize_t sys_readlinkat(int directory, const char *name, char *buffer, size_t count);
int sys_unlinkat(int directory, const char *name, int is_directory);
int sys_mkdirat(int directory, const char *name, unsigned mode);
int sys_chmod(int descriptor, unsigned mode);
int sys_chown(int descriptor, uint32_t owner, uint32_t group);
// A nanosecond count of -1 leaves that time unchanged.
int sys_set_times(int descriptor, int64_t accessed, int64_t accessed_ns, int64_t modified, int64_t modified_ns);
int sys_set_times_at(
    int directory, const char *name, int64_t accessed, int64_t accessed_ns, int64_t modified, int64_t modified_ns);
// Sets only the time of change (st_ctime); for the file's owner.
int sys_note_change(int descriptor);
// Sets the times of the open file to now, which anyone with write access may do, not only its owner.
int sys_touch(int descriptor);

// Directory records as the kernel packs them; iterate over them with sys_next_name.
ssize_t sys_getdents(int descriptor, void *buffer, size_t count);
struct sys_name {
    const char *name;  // NUL-terminated, inside the buffer
    uint32_t length;
    uint32_t type;  // DT_…; 0 if the file system does not report it
    uint64_t inode;
};
// Returns the record at *position of the `count` bytes, and moves on; 0 at the end, 1 for a record.
int sys_next_name(const void *buffer, size_t count, size_t *position, struct sys_name *out);
int sys_rewind(int descriptor);

// Getting, setting and removing work with an O_PATH descriptor too.
ssize_t sys_get_attribute(int descriptor, const char *name, void *value, size_t count);
// The same by name relative to a directory, never following a link.
ssize_t sys_get_attribute_at(int directory, const char *file, const char *name, void *value, size_t count);
int sys_set_attribute(int descriptor, const char *name, const void *value, size_t count);
int sys_remove_attribute(int descriptor, const char *name);
// The names, each terminated by NUL.
ssize_t sys_list_attributes(int descriptor, char *names, size_t count);
// The same by name relative to a directory, of a link itself.
ssize_t sys_list_attributes_at(int directory, const char *file, char *names, size_t count);

// Open-file-description locks on the whole file: they belong to the descriptor, exclude threads, processes and hosts.
enum sys_lock_kind { sys_lock_none, sys_lock_shared, sys_lock_exclusive };
int sys_lock(int descriptor, enum sys_lock_kind kind, int waits);
// 1 when another descriptor holds a lock of either kind, 0 when none does.
int sys_is_locked(int descriptor);

int sys_inotify(void);
// Watches the directory of the descriptor; returns the watch's number.
int sys_inotify_add(int inotify, int directory, uint32_t mask);
int sys_inotify_remove(int inotify, int watch);

// 1 if the shell pattern matches the whole name of at most 255 bytes; a leading dot and a slash are ordinary bytes.
int sys_matches(const char *pattern, const void *name, size_t count);
void sys_ignore_file_size_signal(void);
// CLOCK_REALTIME in full resolution.
void sys_now(int64_t *seconds, int32_t *nanoseconds);
// CLOCK_MONOTONIC in milliseconds, cheap and coarse.
int64_t sys_coarse_milliseconds(void);
// CLOCK_REALTIME in seconds, cheap.
int64_t sys_coarse_seconds(void);
// 1 if the path, whose last link is not followed, is that of a socket; 0 if of something else; or a negative errno.
int sys_is_socket(const char *path);
