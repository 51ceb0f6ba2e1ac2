#define _GNU_SOURCE
#include "CSyscalls.h"
#include "OpenFiles.h"
#include "include/Arguments.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#ifdef __APPLE__
#include <sys/mount.h>
#endif
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#ifdef __APPLE__
// Two numbers for what is one on Linux, and an attribute that is not there has one of its own.
static int error_number(void) { return errno == ENOTSUP ? EOPNOTSUPP : errno == ENOATTR ? ENODATA : errno; }
#else
#define error_number() errno
#endif

#define RETRY(call)                              \
    ({                                           \
        __typeof__(call) result_;                \
        do result_ = (call);                     \
        while (result_ == -1 && errno == EINTR); \
        result_ == -1 ? -(__typeof__(call))error_number() : result_; \
    })

static atomic_int open_files;
static atomic_int most_open_files = INT_MAX;
void sys_limit_open_files(int most) { atomic_store(&most_open_files, most); }
bool sys_may_keep_open(void) {
    int most = atomic_load_explicit(&most_open_files, memory_order_relaxed);
    return atomic_load_explicit(&open_files, memory_order_relaxed) < most - most / 4;
}

bool sys_count_open_files(int number) {
    int before = atomic_fetch_add_explicit(&open_files, number, memory_order_relaxed);
    if (before <= atomic_load_explicit(&most_open_files, memory_order_relaxed) - number) return true;
    sys_count_closed_files(number);
    return false;
}
void sys_count_closed_files(int number) { atomic_fetch_sub_explicit(&open_files, number, memory_order_relaxed); }

static int give_back(int result) {
    if (result < 0) sys_count_closed_files(1);
    return result;
}
#define COUNTED(call) (sys_count_open_files(1) ? give_back(call) : -EMFILE)

int sys_dup(int descriptor) { return COUNTED(RETRY(fcntl(descriptor, F_DUPFD_CLOEXEC, 0))); }
// On Linux the descriptor is closed even after an error such as EINTR: closing it again could close another thread's.
int sys_close(int descriptor) {
    int error = close(descriptor) == -1 ? errno : 0;
    if (error != EBADF) sys_count_closed_files(1);
    return error == EINTR ? 0 : -error;
}
int sys_flush(int descriptor) {
    int copy = sys_dup(descriptor);
    return copy < 0 ? copy : sys_close(copy);
}

ssize_t sys_read(int descriptor, void *buffer, size_t count) { return RETRY(read(descriptor, buffer, count)); }
ssize_t sys_pread(int descriptor, void *buffer, size_t count, int64_t offset) {
    return RETRY(pread(descriptor, buffer, count, offset));
}
ssize_t sys_write(int descriptor, const void *buffer, size_t count) { return RETRY(write(descriptor, buffer, count)); }
ssize_t sys_pwrite(int descriptor, const void *buffer, size_t count, int64_t offset) {
    return RETRY(pwrite(descriptor, buffer, count, offset));
}
ssize_t sys_recv(int socket, void *buffer, size_t count) { return RETRY(recv(socket, buffer, count, MSG_DONTWAIT)); }
int sys_truncate(int descriptor, int64_t size) { return RETRY(ftruncate(descriptor, size)); }
int64_t sys_next_data(int descriptor, int64_t offset, int64_t *end) {
    int64_t start = RETRY(lseek(descriptor, offset, SEEK_DATA));
    if (start < 0) return start;
    *end = RETRY(lseek(descriptor, start, SEEK_HOLE));
    return *end < 0 ? *end : start;
}

int sys_renameat(int from_directory, const char *from, int to_directory, const char *to) {
    return RETRY(renameat(from_directory, from, to_directory, to));
}
int sys_linkat(int from_directory, const char *from, int to_directory, const char *to) {
    return RETRY(linkat(from_directory, from, to_directory, to, 0));
}
int sys_symlinkat(const char *target, int directory, const char *name) {
    return RETRY(symlinkat(target, directory, name));
}
ssize_t sys_readlinkat(int directory, const char *name, char *buffer, size_t count) {
    return RETRY(readlinkat(directory, name, buffer, count));
}
int sys_unlinkat(int directory, const char *name, int is_directory) {
    return RETRY(unlinkat(directory, name, is_directory ? AT_REMOVEDIR : 0));
}
int sys_mkdirat(int directory, const char *name, unsigned mode) { return RETRY(mkdirat(directory, name, mode)); }
int sys_chmod(int descriptor, unsigned mode) { return RETRY(fchmod(descriptor, mode)); }
int sys_chown(int descriptor, uint32_t owner, uint32_t group) { return RETRY(fchown(descriptor, owner, group)); }

static struct timespec time_or_omit(int64_t seconds, int64_t nanoseconds) {
    return (struct timespec){.tv_sec = seconds, .tv_nsec = nanoseconds < 0 ? UTIME_OMIT : nanoseconds};
}
int sys_set_times(int descriptor, int64_t accessed, int64_t accessed_ns, int64_t modified, int64_t modified_ns) {
    struct timespec times[2] = {time_or_omit(accessed, accessed_ns), time_or_omit(modified, modified_ns)};
    return RETRY(futimens(descriptor, times));
}
int sys_set_times_at(
    int directory, const char *name, int64_t accessed, int64_t accessed_ns, int64_t modified, int64_t modified_ns) {
    struct timespec times[2] = {time_or_omit(accessed, accessed_ns), time_or_omit(modified, modified_ns)};
    return RETRY(utimensat(directory, name, times, AT_SYMLINK_NOFOLLOW));
}
int sys_note_change(int descriptor) {
    struct stat info;
    if (fstat(descriptor, &info) != 0) return -errno;
#ifdef __linux__
    struct timespec times[2] = {info.st_atim, {.tv_nsec = UTIME_OMIT}};
    return RETRY(utimensat(descriptor, "", times, AT_EMPTY_PATH));
#else
    struct timespec times[2] = {info.st_atimespec, {.tv_nsec = UTIME_OMIT}};
    return RETRY(futimens(descriptor, times));
#endif
}
int sys_touch(int descriptor) { return RETRY(futimens(descriptor, NULL)); }
int sys_rewind(int descriptor) { return lseek(descriptor, 0, SEEK_SET) == -1 ? -errno : 0; }
int sys_matches(const char *pattern, const void *name, size_t count) {
    char text[256];
    if (count >= sizeof text) return 0;
    memcpy(text, name, count);
    text[count] = 0;
    return fnmatch(pattern, text, 0) == 0;
}
void sys_ignore_file_size_signal(void) {
    // What a program that uses this library does about it is its own matter.
    if (sys_has_default_action(SIGXFSZ)) signal(SIGXFSZ, SIG_IGN);
}
void sys_now(int64_t *seconds, int32_t *nanoseconds) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *seconds = now.tv_sec;
    *nanoseconds = (int32_t)now.tv_nsec;
}

int sys_space(int descriptor, struct sys_space *out) {
#ifdef __APPLE__
    // Its statvfs counts blocks in 32 bits, which a disk of 16 TiB is too large for.
    struct statfs info;
    int result = RETRY(fstatfs(descriptor, &info));
    if (result < 0) return result;
    uint64_t unit = info.f_bsize;
#else
    struct statvfs info;
    int result = RETRY(fstatvfs(descriptor, &info));
    if (result < 0) return result;
    uint64_t unit = info.f_frsize ? info.f_frsize : info.f_bsize;
#endif
    out->available = (uint64_t)info.f_bavail * unit;
    out->used = info.f_blocks > info.f_bfree ? (uint64_t)(info.f_blocks - info.f_bfree) * unit : 0;
    out->is_known = info.f_blocks > 0;
    return 0;
}

#ifdef __linux__
typedef struct dirent64 directory_record;
static bool is_of_nothing(const directory_record *record) { return false; }
#else
typedef struct dirent directory_record;
// A name that was removed; readdir passes them over, too.
static bool is_of_nothing(const directory_record *record) { return record->d_ino == 0; }
#endif

int sys_next_name(const void *buffer, size_t count, size_t *position, struct sys_name *out) {
    const size_t head = offsetof(directory_record, d_name);
    const directory_record *record;
    do {
        if (*position > count || count - *position <= head) return 0;
        record = (const void *)((const char *)buffer + *position);
        if (record->d_reclen <= head || record->d_reclen > count - *position) return 0;
        *position += record->d_reclen;
    } while (is_of_nothing(record));
    out->name = record->d_name;
    out->length = (uint32_t)strnlen(record->d_name, record->d_reclen - head);
    out->type = record->d_type;
    out->inode = record->d_ino;
    return 1;
}

#ifdef __linux__
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/vfs.h>

const int sys_o_path = O_PATH;
const int sys_o_tmpfile = O_TMPFILE;
const int sys_o_noatime = O_NOATIME;
const uint64_t sys_resolve_beneath = 0x08;
const uint64_t sys_resolve_no_symlinks = 0x04;
const uint64_t sys_resolve_no_magiclinks = 0x02;
const uint64_t sys_resolve_cached = 0x20;
const uint64_t sys_resolve_no_mounts = 0x01;
const unsigned sys_rename_noreplace = 1;
const unsigned sys_rename_exchange = 2;
const unsigned sys_sync_write = SYNC_FILE_RANGE_WRITE;
const unsigned sys_sync_wait =
    SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;

#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

int sys_openat(int directory, const char *path, int flags, unsigned mode) {
    return COUNTED(RETRY(openat(directory, path, flags | O_CLOEXEC, mode)));
}
int sys_openat2(int directory, const char *path, int flags, unsigned mode, uint64_t resolve) {
    struct open_how how = {.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC), .mode = mode, .resolve = resolve};
    return COUNTED((int)RETRY(syscall(SYS_openat2, directory, path, &how, sizeof how)));
}

int sys_replace(int descriptor, int other) { return RETRY(dup3(other, descriptor, O_CLOEXEC)) < 0 ? -errno : 0; }
static void path_of(int descriptor, char path[32]) { snprintf(path, 32, "/proc/self/fd/%d", descriptor); }

int sys_reopen(int descriptor, int flags) {
    char path[32];
    path_of(descriptor, path);
    return COUNTED(RETRY(open(path, flags | O_CLOEXEC)));
}

static int attributes(int directory, const char *name, int flags, struct sys_attributes *out) {
    struct statx info;
    unsigned wanted = STATX_BASIC_STATS | STATX_BTIME | STATX_MNT_ID;
    int result = RETRY(statx(directory, name, flags | AT_NO_AUTOMOUNT, wanted, &info));
    if (result < 0) return result;
    *out = (struct sys_attributes){
        .mode = info.stx_mode,
        .links = info.stx_nlink,
        .owner = info.stx_uid,
        .group = info.stx_gid,
        .size = info.stx_size,
        .blocks = info.stx_blocks,
        .inode = info.stx_ino,
        .device = makedev(info.stx_dev_major, info.stx_dev_minor),
        .modified = info.stx_mtime.tv_sec,
        .changed = info.stx_ctime.tv_sec,
        .accessed = info.stx_atime.tv_sec,
        .born = info.stx_btime.tv_sec,
        .modified_ns = info.stx_mtime.tv_nsec,
        .changed_ns = info.stx_ctime.tv_nsec,
        .accessed_ns = info.stx_atime.tv_nsec,
        .born_ns = info.stx_btime.tv_nsec,
        .has_birth = (info.stx_mask & STATX_BTIME) != 0,
        .is_mount_root = (info.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0,
        .mount = info.stx_mask & STATX_MNT_ID ? info.stx_mnt_id : 0,
    };
    return 0;
}
int sys_statat(int directory, const char *name, struct sys_attributes *out) {
    return attributes(directory, name, AT_SYMLINK_NOFOLLOW, out);
}
int sys_fstat(int descriptor, struct sys_attributes *out) { return attributes(descriptor, "", AT_EMPTY_PATH, out); }
int sys_stat(const char *path, struct sys_attributes *out) { return attributes(AT_FDCWD, path, 0, out); }
int sys_statat_now(int directory, const char *name, struct sys_attributes *out) {
    return attributes(directory, name, AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC, out);
}
int sys_fstat_now(int descriptor, struct sys_attributes *out) {
    return attributes(descriptor, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, out);
}

ssize_t sys_pread_nowait(int descriptor, void *buffer, size_t count, int64_t offset) {
    struct iovec part = {.iov_base = buffer, .iov_len = count};
    return RETRY(preadv2(descriptor, &part, 1, offset, RWF_NOWAIT));
}
ssize_t sys_copy_range(int source, int64_t *source_offset, int target, int64_t *target_offset, size_t count) {
    return RETRY(copy_file_range(source, source_offset, target, target_offset, count, 0));
}
int sys_clone(int source, int target) { return RETRY(ioctl(target, FICLONE, source)); }
int sys_allocate(int descriptor, int64_t offset, int64_t count) {
    return RETRY(fallocate(descriptor, 0, offset, count));
}
int sys_likes_allocation(int descriptor) {
    struct statfs info;
    if (fstatfs(descriptor, &info) != 0) return 0;
    // Not where it would turn off compression (btrfs) or cost a request to another machine, nor in memory, where a page
    // that is there already is found once more (a tenth of an upload's cost).
    unsigned long type = (unsigned long)info.f_type & 0xFFFFFFFFUL;
    return type == EXT4_SUPER_MAGIC || type == XFS_SUPER_MAGIC;
}
int sys_tells_holes(int descriptor) {
    struct statfs info;
    if (fstatfs(descriptor, &info) != 0) return 0;
    unsigned long type = (unsigned long)info.f_type & 0xFFFFFFFFUL;
    return type == EXT4_SUPER_MAGIC || type == XFS_SUPER_MAGIC || type == BTRFS_SUPER_MAGIC || type == TMPFS_MAGIC;
}
int sys_is_shared(int descriptor) {
    struct statfs info;
    if (fstatfs(descriptor, &info) != 0) return 1;
    switch ((unsigned)info.f_type) {
    case 0x6969:      // NFS
    case 0xFF534D42:  // CIFS
    case 0xFE534D42:  // SMB2
    case 0x00C36400:  // Ceph
    case 0x01021997:  // 9P
    case 0x65735546:  // FUSE
    case 0x0BD00BD0:  // Lustre
    case 0x7461636F:  // OCFS2
    case 0x01161970:  // GFS2
    case 0x47504653:  // GPFS
    case 0x5346414F:  // AFS
    case 0x786F4256:  // shared folders of a VirtualBox host
    case 0xBACBACBC:  // shared folders of a VMware host
        return 1;
    default: return 0;
    }
}
int sys_is_far(int descriptor) { return sys_is_shared(descriptor); }
int sys_has_changed(int mounts) {
    struct pollfd wanted = {.fd = mounts, .events = POLLPRI};
    int ready = poll(&wanted, 1, 0);
    return ready < 0 ? -errno : ready;
}
uint64_t sys_device(unsigned major, unsigned minor) { return makedev(major, minor); }
// Only for these is it known that data written back by sync_file_range is what the name will lead to. A file system on
// top of another, such as overlayfs or FUSE, passes its pages on when asked, and they are then still in memory.
enum sys_ordering sys_ordering(int descriptor) {
    struct statfs info;
    if (fstatfs(descriptor, &info) != 0) return sys_ordered_by_file;
    switch ((unsigned)info.f_type) {
    case EXT4_SUPER_MAGIC:  // also ext2 and ext3
    case XFS_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case TMPFS_MAGIC:
    case 0x858458F6:  // ramfs
    case 0xF2F52010:  // F2FS
    case 0x2FC12FC1:  // ZFS, which keeps all changes in order
        return sys_ordered_by_range;
    case 0x794C7630:  // overlayfs
        return sys_ordered_by_all;
    default: return sys_ordered_by_file;
    }
}
int sys_keeps_names(int descriptor) {
    struct statfs info;
    if (fstatfs(descriptor, &info) != 0) return 0;
    // A FUSE program may not support fsync of directories, and the host that serves files to a virtual machine over 9P
    // need not do it.
    return (unsigned)info.f_type != 0x65735546 && (unsigned)info.f_type != 0x01021997;
}
int sys_sync_range(int descriptor, int64_t offset, int64_t count, unsigned flags) {
    return RETRY(sync_file_range(descriptor, offset, count, flags));
}
int sys_fsync(int descriptor) { return RETRY(fsync(descriptor)); }
int sys_fdatasync(int descriptor) { return RETRY(fdatasync(descriptor)); }
int sys_sync_all(int descriptor) { return RETRY(syncfs(descriptor)); }
int sys_will_need(int descriptor, int64_t offset, int64_t count) {
    return -posix_fadvise(descriptor, offset, count, POSIX_FADV_WILLNEED);
}
int sys_is_written_back(int descriptor, int64_t offset, int64_t count) {
    // cachestat(2), since Linux 6.5; C libraries have no name for it yet.
    struct { uint64_t offset, count; } range = {(uint64_t)offset, (uint64_t)count};
    struct { uint64_t cached, dirty, being_written, evicted, evicted_recently; } pages;
    int result = (int)RETRY(syscall(SYS_cachestat, descriptor, &range, &pages, 0));
    return result < 0 ? result : pages.dirty == 0 && pages.being_written == 0;
}
int sys_will_not_need(int descriptor, int64_t offset, int64_t count) {
    return -posix_fadvise(descriptor, offset, count, POSIX_FADV_DONTNEED);
}

int sys_renameat2(int from_directory, const char *from, int to_directory, const char *to, unsigned flags) {
    return (int)RETRY(syscall(SYS_renameat2, from_directory, from, to_directory, to, flags));
}
int sys_link_descriptor(int descriptor, int to_directory, const char *to) {
    // The short way needs a capability, or Linux 6.10 and a thread that could have opened the file itself.
    static atomic_bool is_short = true;
    if (atomic_load_explicit(&is_short, memory_order_relaxed)) {
        int result = RETRY(linkat(descriptor, "", to_directory, to, AT_EMPTY_PATH));
        if (result != -ENOENT) return result;
    }
    char path[32];
    path_of(descriptor, path);
    int result = RETRY(linkat(AT_FDCWD, path, to_directory, to, AT_SYMLINK_FOLLOW));
    if (result == 0) atomic_store_explicit(&is_short, false, memory_order_relaxed);
    return result;
}

ssize_t sys_getdents(int descriptor, void *buffer, size_t count) {
    return (ssize_t)RETRY(syscall(SYS_getdents64, descriptor, buffer, count));
}

ssize_t sys_get_attribute(int descriptor, const char *name, void *value, size_t count) {
    char path[32];
    ssize_t result = RETRY(fgetxattr(descriptor, name, value, count));
    if (result != -EBADF) return result;
    path_of(descriptor, path);
    return RETRY(getxattr(path, name, value, count));
}
ssize_t sys_get_attribute_at(int directory, const char *file, const char *name, void *value, size_t count) {
    char path[32 + 257];
    int length = snprintf(path, sizeof path, "/proc/self/fd/%d/%s", directory, file);
    if (length < 0 || (size_t)length >= sizeof path) return -ENAMETOOLONG;
    return RETRY(lgetxattr(path, name, value, count));
}
int sys_set_attribute(int descriptor, const char *name, const void *value, size_t count) {
    char path[32];
    int result = RETRY(fsetxattr(descriptor, name, value, count, 0));
    if (result != -EBADF) return result;
    path_of(descriptor, path);
    return RETRY(setxattr(path, name, value, count, 0));
}
ssize_t sys_list_attributes(int descriptor, char *names, size_t count) {
    return RETRY(flistxattr(descriptor, names, count));
}
ssize_t sys_list_attributes_at(int directory, const char *file, char *names, size_t count) {
    char path[32 + 257];
    int length = snprintf(path, sizeof path, "/proc/self/fd/%d/%s", directory, file);
    if (length < 0 || (size_t)length >= sizeof path) return -ENAMETOOLONG;
    return RETRY(llistxattr(path, names, count));
}
int sys_remove_attribute(int descriptor, const char *name) {
    char path[32];
    int result = RETRY(fremovexattr(descriptor, name));
    if (result != -EBADF) return result;
    path_of(descriptor, path);
    return RETRY(removexattr(path, name));
}

int sys_lock(int descriptor, enum sys_lock_kind kind, int waits) {
    struct flock64 lock = {
        .l_type = kind == sys_lock_none ? F_UNLCK : kind == sys_lock_shared ? F_RDLCK : F_WRLCK,
        .l_whence = SEEK_SET,
    };
    return RETRY(fcntl(descriptor, waits ? F_OFD_SETLKW : F_OFD_SETLK, &lock));
}
int sys_is_locked(int descriptor) {
    struct flock64 lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int result = RETRY(fcntl(descriptor, F_OFD_GETLK, &lock));
    return result < 0 ? result : lock.l_type != F_UNLCK;
}

int sys_inotify(void) { return COUNTED(RETRY(inotify_init1(IN_CLOEXEC | IN_NONBLOCK))); }
int sys_inotify_add(int inotify, int directory, uint32_t mask) {
    char path[32];
    path_of(directory, path);
    return RETRY(inotify_add_watch(inotify, path, mask));
}
int sys_inotify_remove(int inotify, int watch) { return RETRY(inotify_rm_watch(inotify, watch)); }

int64_t sys_coarse_milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
int64_t sys_coarse_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return now.tv_sec;
}

#else  // macOS: calls that it lacks return -ENOSYS

#include <stdlib.h>
#include <sys/param.h>

// No flag of the system's.
const int sys_o_path = 1 << 16;
const int sys_o_tmpfile = 0;
const int sys_o_noatime = 0;
const uint64_t sys_resolve_beneath = 0;
const uint64_t sys_resolve_no_symlinks = 0;
const uint64_t sys_resolve_no_magiclinks = 0;
const uint64_t sys_resolve_cached = 0;
const uint64_t sys_resolve_no_mounts = 0;
const unsigned sys_rename_noreplace = RENAME_EXCL;
const unsigned sys_rename_exchange = RENAME_SWAP;
const unsigned sys_sync_write = 0;
const unsigned sys_sync_wait = 1;

// As a place alone: whoever writes to a pipe is not waited for, and a link itself is opened where none is followed.
static int of_place(int flags) {
    flags = (flags & ~sys_o_path) | O_NONBLOCK | O_NOCTTY;
    return flags & O_NOFOLLOW && !(flags & O_DIRECTORY) ? (flags & ~O_NOFOLLOW) | O_SYMLINK : flags;
}
int sys_openat(int directory, const char *path, int flags, unsigned mode) {
    if (flags & sys_o_path) flags = of_place(flags);
    int result = COUNTED(RETRY(openat(directory, path, flags | O_CLOEXEC, mode)));
    // A socket, of which Linux says this.
    return result == -EOPNOTSUPP ? -ENXIO : result;
}
int sys_openat2(int directory, const char *path, int flags, unsigned mode, uint64_t resolve) { return -ENOSYS; }
int sys_replace(int descriptor, int other) {
    if (dup2(other, descriptor) < 0) return -errno;
    return fcntl(descriptor, F_SETFD, FD_CLOEXEC) < 0 ? -errno : 0;
}
int sys_reopen(int descriptor, int flags) {
    int result = COUNTED(RETRY(openat(descriptor, ".", flags | O_CLOEXEC)));
    // Of what is no directory there is no other way to it; it is open for reading, and that is all that is asked for.
    return result == -ENOTDIR ? sys_dup(descriptor) : result;
}

static int convert(int result, const struct stat *info, struct sys_attributes *out) {
    if (result < 0) return result;
    *out = (struct sys_attributes){
        .mode = info->st_mode,
        .links = info->st_nlink,
        .owner = info->st_uid,
        .group = info->st_gid,
        .size = (uint64_t)info->st_size,
        .blocks = (uint64_t)info->st_blocks,
        .inode = info->st_ino,
        .device = (uint64_t)info->st_dev,
        .modified = info->st_mtimespec.tv_sec,
        .changed = info->st_ctimespec.tv_sec,
        .accessed = info->st_atimespec.tv_sec,
        .born = info->st_birthtimespec.tv_sec,
        .modified_ns = (uint32_t)info->st_mtimespec.tv_nsec,
        .changed_ns = (uint32_t)info->st_ctimespec.tv_nsec,
        .accessed_ns = (uint32_t)info->st_atimespec.tv_nsec,
        .born_ns = (uint32_t)info->st_birthtimespec.tv_nsec,
        .has_birth = 1,
    };
    return 0;
}
int sys_statat(int directory, const char *name, struct sys_attributes *out) {
    struct stat info;
    return convert(RETRY(fstatat(directory, name, &info, AT_SYMLINK_NOFOLLOW)), &info, out);
}
int sys_fstat(int descriptor, struct sys_attributes *out) {
    struct stat info;
    return convert(RETRY(fstat(descriptor, &info)), &info, out);
}
int sys_stat(const char *path, struct sys_attributes *out) {
    struct stat info;
    return convert(RETRY(stat(path, &info)), &info, out);
}
int sys_statat_now(int directory, const char *name, struct sys_attributes *out) {
    return sys_statat(directory, name, out);
}
int sys_fstat_now(int descriptor, struct sys_attributes *out) { return sys_fstat(descriptor, out); }
ssize_t sys_pread_nowait(int descriptor, void *buffer, size_t count, int64_t offset) { return -EAGAIN; }
ssize_t sys_copy_range(int source, int64_t *from, int target, int64_t *to, size_t count) { return -ENOSYS; }
int sys_clone(int source, int target) { return -ENOSYS; }
int sys_allocate(int descriptor, int64_t offset, int64_t count) { return -ENOSYS; }
int sys_likes_allocation(int descriptor) { return 0; }
int sys_tells_holes(int descriptor) { return 0; }
int sys_is_shared(int descriptor) { return 1; }
int sys_is_far(int descriptor) {
    struct statfs info;
    return fstatfs(descriptor, &info) != 0 || (info.f_flags & MNT_LOCAL) == 0;
}
int sys_has_changed(int mounts) { return 0; }
uint64_t sys_device(unsigned major, unsigned minor) { return makedev(major, minor); }
enum sys_ordering sys_ordering(int descriptor) { return sys_ordered_by_range; }
int sys_keeps_names(int descriptor) { return 1; }
// Disks that are not this machine's, and those of other systems, may know fsync alone.
static bool is_unknown(int result) {
    return result == -ENOTTY || result == -EOPNOTSUPP || result == -EINVAL || result == -ENOSYS;
}
int sys_sync_range(int descriptor, int64_t offset, int64_t count, unsigned flags) {
    if (flags != sys_sync_wait) return 0;
    int result = RETRY(fcntl(descriptor, F_BARRIERFSYNC));
    return is_unknown(result) ? -ENOSYS : result;
}
// Its fsync leaves in the disk's own cache what Linux's has the disk write.
int sys_fsync(int descriptor) {
    int result = RETRY(fcntl(descriptor, F_FULLFSYNC));
    return is_unknown(result) ? RETRY(fsync(descriptor)) : result;
}
int sys_fdatasync(int descriptor) { return sys_fsync(descriptor); }
int sys_sync_all(int descriptor) {
    sync();
    return sys_fsync(descriptor);
}
int sys_will_need(int descriptor, int64_t offset, int64_t count) { return 0; }
int sys_is_written_back(int descriptor, int64_t offset, int64_t count) { return -ENOSYS; }
int sys_will_not_need(int descriptor, int64_t offset, int64_t count) { return 0; }
int sys_renameat2(int from_directory, const char *from, int to_directory, const char *to, unsigned flags) {
    int result = RETRY(renameatx_np(from_directory, from, to_directory, to, flags));
    // A file system without these flags, of which Linux says this.
    return result == -EOPNOTSUPP ? -EINVAL : result;
}
int sys_link_descriptor(int descriptor, int to_directory, const char *to) { return -ENOSYS; }

ssize_t __getdirentries64(int descriptor, void *buffer, size_t count, off_t *position);
ssize_t sys_getdents(int descriptor, void *buffer, size_t count) {
    off_t position = 0;
    return RETRY(__getdirentries64(descriptor, buffer, count, &position));
}
ssize_t sys_get_attribute(int descriptor, const char *name, void *value, size_t count) {
    return RETRY(fgetxattr(descriptor, name, value, count, 0, 0));
}
ssize_t sys_get_attribute_at(int directory, const char *file, const char *name, void *value, size_t count) {
    int opened = sys_openat(directory, file, sys_o_path | O_NOFOLLOW, 0);
    if (opened < 0) return opened;
    ssize_t result = sys_get_attribute(opened, name, value, count);
    sys_close(opened);
    return result;
}
int sys_set_attribute(int descriptor, const char *name, const void *value, size_t count) {
    return RETRY(fsetxattr(descriptor, name, value, count, 0, 0));
}
ssize_t sys_list_attributes(int descriptor, char *names, size_t count) {
    return RETRY(flistxattr(descriptor, names, count, 0));
}
ssize_t sys_list_attributes_at(int directory, const char *file, char *names, size_t count) {
    int opened = sys_openat(directory, file, sys_o_path | O_NOFOLLOW, 0);
    if (opened < 0) return opened;
    ssize_t result = sys_list_attributes(opened, names, count);
    sys_close(opened);
    return result;
}
int sys_remove_attribute(int descriptor, const char *name) { return RETRY(fremovexattr(descriptor, name, 0)); }
int sys_lock(int descriptor, enum sys_lock_kind kind, int waits) {
    struct flock lock = {
        .l_type = kind == sys_lock_none ? F_UNLCK : kind == sys_lock_shared ? F_RDLCK : F_WRLCK,
        .l_whence = SEEK_SET,
    };
#ifndef F_OFD_SETLK
#define F_OFD_SETLK 90
#define F_OFD_SETLKW 91
#endif
    return RETRY(fcntl(descriptor, waits ? F_OFD_SETLKW : F_OFD_SETLK, &lock));
}
int sys_is_locked(int descriptor) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
#ifndef F_OFD_GETLK
#define F_OFD_GETLK 92
#endif
    int result = RETRY(fcntl(descriptor, F_OFD_GETLK, &lock));
    return result < 0 ? result : lock.l_type != F_UNLCK;
}
int sys_inotify(void) { return -ENOSYS; }
int sys_inotify_add(int inotify, int directory, uint32_t mask) { return -ENOSYS; }
int sys_inotify_remove(int inotify, int watch) { return -ENOSYS; }
int64_t sys_coarse_seconds(void) { return time(NULL); }
int64_t sys_coarse_milliseconds(void) { return (int64_t)(clock_gettime_nsec_np(CLOCK_MONOTONIC_RAW_APPROX) / 1000000); }
#endif

int sys_is_socket(const char *path) {
    struct stat found;
    int status = RETRY(lstat(path, &found));
    return status < 0 ? status : S_ISSOCK(found.st_mode) != 0;
}
