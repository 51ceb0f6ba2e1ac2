// Calls on sockets whose flags the C library overlays do not carry over, the limits of open files, and whether a file
// is always in memory. Those that send or wait return -errno instead of -1, and are repeated after EINTR.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// A new socket, closed in programs that this one starts, at this path, which nothing else may have; -ENAMETOOLONG for
// one of more than 107 bytes, on macOS 103.
int sys_socket_at(const char *path);
// Sends without waiting and without SIGPIPE; `more` holds the packet back for data that follows at once.
ssize_t sys_send(int socket, const void *bytes, size_t count, int more);
// The same, with bytes before and after them.
ssize_t sys_send_framed(
    int socket, const void *before, size_t before_count, const void *bytes, size_t count, const void *after,
    size_t after_count);
// Sends a span of a file from the page cache; -ENOSYS if the system has no such call.
ssize_t sys_sendfile(int socket, int file, int64_t offset, size_t count);
// Waits at most this long, or until a signal comes, for bytes or the end of the stream; 1 when there are some.
int sys_wait_readable(int socket, int milliseconds);
// 1 when the peer has closed its side, or is gone. Bytes before that may still have to be read; they hide it where the
// system has no POLLRDHUP.
int sys_has_hung_up(int socket);
// 1 when the system has room to watch one more descriptor, such as this one, with epoll(7).
int sys_can_watch(int descriptor);
// The bytes that the peer of a TCP connection has acknowledged, while others are still unacknowledged; -1 when none
// are, and if the system does not report it.
int64_t sys_acknowledged(int socket);
// Error numbers that callers tell apart.
extern const int sys_again, sys_not_supported, sys_no_call, sys_invalid;
// 1 when a file's bytes are always in memory (tmpfs, ramfs).
int sys_is_memory(int file);
// The soft limit of open files, raised to the hard one first.
int64_t sys_raise_file_limit(void);
// How many files the process was started with, beside its standard streams: counted by the first call, which has to come
// before it opens any.
int64_t sys_inherited_files(void);
// Lowers both limits of open files to `most`; limits that are lower already stay.
void sys_lower_file_limit(int64_t most);
// The most bytes that a file may have by the process's limit; -1 without one.
int64_t sys_file_size_limit(void);
