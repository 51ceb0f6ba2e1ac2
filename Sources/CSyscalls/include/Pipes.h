#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Moving bytes from a socket to a file within the kernel, through a pipe, with Linux's splice(2). Returns -errno, -ENOSYS
// if the system has none.

/// Opens a pipe whose reads and writes never wait, with room for `size` bytes in full pages: `ends[0]` to take them out,
/// `ends[1]` to put them in. Both are among the descriptors that sys_limit_open_files counts, and sys_close closes them.
int sys_pipe(size_t size, int ends[2]);

/// Moves what a socket has received, `count` bytes at most, into an empty pipe. Returns how many; 0 at the end of the
/// stream; -EAGAIN when there is nothing.
ssize_t sys_fill_pipe(int socket, int pipe, size_t count);

/// Writes what waits in a pipe, `count` bytes at most, to a file from this offset on. Returns how many.
ssize_t sys_drain_pipe(int pipe, int file, int64_t offset, size_t count);

/// Whether such an answer means that this socket or file system has no such way, or that it is not allowed: nothing was
/// moved, and the bytes can be taken otherwise.
bool sys_means_no_pipe(ssize_t answer);
