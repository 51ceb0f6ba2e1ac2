#define _GNU_SOURCE
#include "include/DirectWrites.h"

#include <errno.h>
#include <fcntl.h>

#ifdef __linux__
#include <linux/aio_abi.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

#ifdef STATX_DIOALIGN
// ext4 and XFS show their stripes among the options of a mount: `stripe=`, `sunit=` and `swidth=`.
static bool has_stripes(uint64_t mount) {
    FILE *table = fopen("/proc/self/mountinfo", "re");
    if (table == NULL) return true;
    char *line = NULL;
    size_t room = 0;
    bool found = false, striped = true;
    while (!found && getline(&line, &room, table) > 0) {
        found = strtoull(line, NULL, 10) == mount;
        if (found) striped = strstr(line, ",stripe=") != NULL || strstr(line, ",swidth=") != NULL;
    }
    free(line);
    fclose(table);
    return striped;
}

int sys_likes_direct_writes(int descriptor) {
    struct statfs system;
    if (fstatfs(descriptor, &system) != 0) return 0;
    unsigned long type = (unsigned long)system.f_type & 0xFFFFFFFFUL;
    if (type != EXT4_SUPER_MAGIC && type != XFS_SUPER_MAGIC) return 0;
    struct statx info;
    unsigned wanted = STATX_DIOALIGN | STATX_MNT_ID;
    if (statx(descriptor, "", AT_EMPTY_PATH, wanted, &info) != 0 || (info.stx_mask & wanted) != wanted) return 0;
    if (info.stx_dio_mem_align == 0 || info.stx_dio_mem_align > 4096) return 0;
    if (info.stx_dio_offset_align == 0 || info.stx_dio_offset_align > 4096) return 0;
    return !has_stripes(info.stx_mnt_id);
}
#else
int sys_likes_direct_writes(int descriptor) { return 0; }
#endif

int sys_write_directly(int descriptor, bool on) {
    int flags = fcntl(descriptor, F_GETFL);
    if (flags < 0) return -errno;
    return fcntl(descriptor, F_SETFL, on ? flags | O_DIRECT : flags & ~O_DIRECT) < 0 ? -errno : 0;
}

int sys_pieces_begin(unsigned most, uint64_t *queue) {
    aio_context_t context = 0;
    if (syscall(SYS_io_setup, most, &context) != 0) return -errno;
    *queue = context;
    return 0;
}
void sys_pieces_end(uint64_t queue) { syscall(SYS_io_destroy, (aio_context_t)queue); }

int sys_piece_write(
    uint64_t queue, int descriptor, const void *bytes, size_t count, int64_t offset, uint64_t mark) {
    struct iocb piece = {
        .aio_data = mark,
        .aio_lio_opcode = IOCB_CMD_PWRITE,
        .aio_fildes = (uint32_t)descriptor,
        .aio_buf = (uintptr_t)bytes,
        .aio_nbytes = count,
        .aio_offset = offset,
    };
    struct iocb *pieces[1] = {&piece};
    long taken = syscall(SYS_io_submit, (aio_context_t)queue, 1L, pieces);
    return taken == 1 ? 0 : taken < 0 ? -errno : -EAGAIN;
}

int sys_piece_done(uint64_t queue, bool waits, uint64_t *mark, int64_t *result) {
    struct io_event event;
    long count;
    do count = syscall(SYS_io_getevents, (aio_context_t)queue, waits ? 1L : 0L, 1L, &event, NULL);
    while (count < 0 && errno == EINTR);
    if (count < 0) return -errno;
    if (count == 0) return 0;
    *mark = event.data;
    *result = event.res;
    return 1;
}

void sys_prefer_large_pages(void *bytes, size_t count) { madvise(bytes, count, MADV_HUGEPAGE); }
void sys_give_back_pages(void *bytes, size_t count) { madvise(bytes, count, MADV_DONTNEED); }
#else
int sys_likes_direct_writes(int descriptor) { return 0; }
int sys_write_directly(int descriptor, bool on) { return -ENOSYS; }
int sys_pieces_begin(unsigned most, uint64_t *queue) { return -ENOSYS; }
void sys_pieces_end(uint64_t queue) {}
int sys_piece_write(
    uint64_t queue, int descriptor, const void *bytes, size_t count, int64_t offset, uint64_t mark) {
    return -ENOSYS;
}
int sys_piece_done(uint64_t queue, bool waits, uint64_t *mark, int64_t *result) { return -ENOSYS; }
void sys_prefer_large_pages(void *bytes, size_t count) {}
void sys_give_back_pages(void *bytes, size_t count) {}
#endif
