// The system calls that Swift's C library overlays lack or cannot call (variadic ones), and those whose errors the
// sandbox must tell apart. What answers a descriptor, a count or an int answers -errno instead of -1, and goes on after
// EINTR; what a system lacks answers -ENOSYS, so that every caller needs a fallback anyway. What they open is closed in
// programs that this one starts.
//
// Beside them: what a file system can do (sys_is_shared, sys_is_far, sys_names_kind, sys_tells_holes,
// sys_likes_allocation), clocks, and patterns of names.
//
// Error numbers, open flags, kinds of directory records and limits come with it, so that who calls the C library by
// this alone imports nothing else.
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
#include "DirectWrites.h"

// What one statx says, in the same shape on every system.
struct sys_attributes {
    uint32_t mode;
    uint32_t links;
    uint32_t owner;
    uint32_t group;
    uint64_t size;
    uint64_t blocks;  // of 512 bytes
    uint64_t inode;
    uint64_t device;
    int64_t modified, changed, accessed, born;
    uint32_t modified_ns, changed_ns, accessed_ns, born_ns;
    uint32_t has_birth;
    uint32_t is_mount_root;
    uint64_t mount;  // which mount it is on; 0 where unknown
};

struct sys_space {
    uint64_t available;  // bytes for an ordinary user
    uint64_t used;
    uint32_t is_known;  // 0 of file systems that do not say: some of FUSE, tmpfs without a limit
};

// Flags whose values differ by system or that need _GNU_SOURCE.
extern const int sys_o_path;       // O_PATH; where it is missing, a plain read-only open
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

// From now on what would open more descriptors than this here answers -EMFILE: the rest is for sockets, and for
// libraries that end the process when they cannot open. What other calls opened does not count.
void sys_limit_open_files(int most);
// Whether a quarter of these is left: what may keep a descriptor for as long as a slow peer takes asks first, so that
// what is done at once finds one, however many slow peers there are.
bool sys_may_keep_open(void);
int sys_openat2(int directory, const char *path, int flags, unsigned mode, uint64_t resolve);
int sys_openat(int directory, const char *path, int flags, unsigned mode);
// Opens once more what a descriptor (also an O_PATH one) stands for.
int sys_reopen(int descriptor, int flags);
int sys_dup(int descriptor);
int sys_close(int descriptor);
// What closing the file would answer; it stays open.
int sys_flush(int descriptor);
// Makes `descriptor` stand for what `other` stands for, in one step; both stay open.
int sys_replace(int descriptor, int other);

int sys_statat(int directory, const char *name, struct sys_attributes *out);  // never follows a link
int sys_fstat(int descriptor, struct sys_attributes *out);
// The same without asking a program or another machine: as known here.
int sys_statat_now(int directory, const char *name, struct sys_attributes *out);
int sys_fstat_now(int descriptor, struct sys_attributes *out);
int sys_stat(const char *path, struct sys_attributes *out);  // follows links; for files that are not of the share
int sys_space(int descriptor, struct sys_space *out);
// Whether other hosts may change what is there without this kernel's knowing.
int sys_is_shared(int descriptor);
// Whether a program or another machine is asked for what is there, even for what this kernel knows already.
int sys_is_far(int descriptor);
// Whether the system's table of mounts, open as this, was changed since it was last asked; never waits.
int sys_has_changed(int mounts);
// The number of a device as sys_attributes has it.
uint64_t sys_device(unsigned major, unsigned minor);
// How a directory tells names apart: byte by byte; taking some for others; or it does not say, as of a descriptor that
// is not open for reading.
extern const int sys_names_apart, sys_names_confused, sys_names_unknown;
int sys_names_kind(int directory);

ssize_t sys_read(int descriptor, void *buffer, size_t count);
ssize_t sys_pread(int descriptor, void *buffer, size_t count, int64_t offset);
// Only what is in memory; -EAGAIN when the disk would have to be waited for.
ssize_t sys_pread_nowait(int descriptor, void *buffer, size_t count, int64_t offset);
ssize_t sys_write(int descriptor, const void *buffer, size_t count);
ssize_t sys_pwrite(int descriptor, const void *buffer, size_t count, int64_t offset);
ssize_t sys_recv(int socket, void *buffer, size_t count);  // never waits
ssize_t sys_copy_range(int source, int64_t *source_offset, int target, int64_t *target_offset, size_t count);
int sys_clone(int source, int target);
int sys_truncate(int descriptor, int64_t size);
// 1 where holes are told rightly: ZFS before 2.1.14 and 2.2.2 takes what was written a moment ago for some.
int sys_tells_holes(int descriptor);
// Where the first bytes at or behind an offset are that take room on the disk, and where they end; -ENXIO behind the
// last. Moves the descriptor's own position.
int64_t sys_next_data(int descriptor, int64_t offset, int64_t *end);
int sys_allocate(int descriptor, int64_t offset, int64_t count);  // the file ends no earlier than there
int sys_likes_allocation(int descriptor);  // 1 where writing into allocated room is cheaper
// Waits until all that was written to the descriptor's file system is on its disk.
int sys_sync_all(int descriptor);
int sys_sync_range(int descriptor, int64_t offset, int64_t count, unsigned flags);
// What it takes for a file's bytes to be on the disk before a later change of its name is.
enum sys_ordering { sys_ordered_by_file, sys_ordered_by_range, sys_ordered_by_all };
enum sys_ordering sys_ordering(int descriptor);
// Whether the disk has all names of a directory once that was given to sys_fsync.
int sys_keeps_names(int descriptor);
int sys_fsync(int descriptor);
int sys_fdatasync(int descriptor);
int sys_will_need(int descriptor, int64_t offset, int64_t count);
// 1 where memory holds nothing of a range that its disk has not, 0 where it does; -ENOSYS where that is not told.
int sys_is_written_back(int descriptor, int64_t offset, int64_t count);
// Takes what the disk has of a range out of memory.
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
// A nanosecond count of -1 leaves that time alone.
int sys_set_times(int descriptor, int64_t accessed, int64_t accessed_ns, int64_t modified, int64_t modified_ns);
int sys_set_times_at(
    int directory, const char *name, int64_t accessed, int64_t accessed_ns, int64_t modified, int64_t modified_ns);
// Sets the time of change alone, for who owns the file.
int sys_note_change(int descriptor);
// Stamps what is open with this moment, which everybody may who may write to it, and not its owner alone.
int sys_touch(int descriptor);

// Directory records as the kernel packs them; walk them with sys_next_name.
ssize_t sys_getdents(int descriptor, void *buffer, size_t count);
struct sys_name {
    const char *name;  // NUL-terminated, inside the buffer
    uint32_t length;
    uint32_t type;  // DT_…; 0 when the file system does not say
    uint64_t inode;
};
// The record at *position of the `count` bytes, and moves on; 0 at the end, 1 for a record.
int sys_next_name(const void *buffer, size_t count, size_t *position, struct sys_name *out);
int sys_rewind(int descriptor);

// Getting, setting and removing work with an O_PATH descriptor too.
ssize_t sys_get_attribute(int descriptor, const char *name, void *value, size_t count);
// The same by name relative to a directory, never following a link.
ssize_t sys_get_attribute_at(int directory, const char *file, const char *name, void *value, size_t count);
int sys_set_attribute(int descriptor, const char *name, const void *value, size_t count);
int sys_remove_attribute(int descriptor, const char *name);
// The names, each ended by NUL.
ssize_t sys_list_attributes(int descriptor, char *names, size_t count);
// The same of what has a name in a directory, a link itself.
ssize_t sys_list_attributes_at(int directory, const char *file, char *names, size_t count);

// Open-file-description locks on the whole file: they belong to the descriptor, exclude threads, processes and hosts.
enum sys_lock_kind { sys_lock_none, sys_lock_shared, sys_lock_exclusive };
int sys_lock(int descriptor, enum sys_lock_kind kind, int waits);
// 1 when another descriptor holds a lock of either kind, 0 when none does.
int sys_is_locked(int descriptor);

int sys_inotify(void);
// Watches the directory that the descriptor stands for; answers the watch's number.
int sys_inotify_add(int inotify, int directory, uint32_t mask);
int sys_inotify_remove(int inotify, int watch);

// 1 when the shell pattern takes the whole name of at most 255 bytes; a leading dot and a slash are ordinary bytes.
int sys_matches(const char *pattern, const void *name, size_t count);
void sys_ignore_file_size_signal(void);
// CLOCK_REALTIME in full resolution.
void sys_now(int64_t *seconds, int32_t *nanoseconds);
// CLOCK_MONOTONIC in milliseconds, cheap and coarse.
int64_t sys_coarse_milliseconds(void);
