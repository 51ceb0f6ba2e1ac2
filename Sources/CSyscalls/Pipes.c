#define _GNU_SOURCE
#include "include/Pipes.h"
#include "OpenFiles.h"

#include <errno.h>

#ifdef __linux__
#include <fcntl.h>
#include <unistd.h>

int sys_pipe(size_t size, int ends[2]) {
    if (!sys_count_open_files(2)) return -EMFILE;
    int error = pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0 ? 0 : errno;
    if (error == 0) {
        if (fcntl(ends[1], F_SETPIPE_SZ, (int)size) >= 0) return 0;
        error = errno;
        close(ends[0]);
        close(ends[1]);
    }
    sys_count_closed_files(2);
    return -error;
}

ssize_t sys_fill_pipe(int socket, int pipe, size_t count) {
    ssize_t moved;
    do moved = splice(socket, NULL, pipe, NULL, count, SPLICE_F_NONBLOCK);
    while (moved < 0 && errno == EINTR);
    return moved < 0 ? -errno : moved;
}

ssize_t sys_drain_pipe(int pipe, int file, int64_t offset, size_t count) {
    off_t position = offset;
    ssize_t moved;
    do moved = splice(pipe, NULL, file, &position, count, 0);
    while (moved < 0 && errno == EINTR);
    return moved < 0 ? -errno : moved;
}
#else
int sys_pipe(size_t size, int ends[2]) { return -ENOSYS; }
ssize_t sys_fill_pipe(int socket, int pipe, size_t count) { return -ENOSYS; }
ssize_t sys_drain_pipe(int pipe, int file, int64_t offset, size_t count) { return -ENOSYS; }
#endif

bool sys_means_no_pipe(ssize_t answer) {
    switch (answer) {
    case -EINVAL: case -ENOSYS: case -EOPNOTSUPP: case -EPERM: case -EACCES: case -ENOMEM: return true;
    default: return false;
    }
}
