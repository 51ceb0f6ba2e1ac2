#define _GNU_SOURCE
#include "Sockets.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#ifdef __APPLE__
#include <sys/sysctl.h>
#include <sys/syslimits.h>
#endif
#ifdef __linux__
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/vfs.h>
#endif

int sys_socket_at(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if (length >= sizeof address.sun_path) return -ENAMETOOLONG;
    memcpy(address.sun_path, path, length);
    int made = socket(AF_UNIX, SOCK_STREAM, 0);
    if (made < 0) return -errno;
    (void)fcntl(made, F_SETFD, FD_CLOEXEC);
    if (bind(made, (const struct sockaddr *)&address, sizeof address) == 0) return made;
    int error = errno;
    close(made);
    return -error;
}

ssize_t sys_send(int socket, const void *bytes, size_t count, int more) {
    int flags = MSG_DONTWAIT;
#ifdef __linux__
    flags |= MSG_NOSIGNAL | (more ? MSG_MORE : 0);
#else
    (void)more;
#endif
    ssize_t sent;
    do sent = send(socket, bytes, count, flags);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : sent;
}

ssize_t sys_send_framed(
    int socket, const void *before, size_t before_count, const void *bytes, size_t count, const void *after,
    size_t after_count) {
    struct iovec parts[] = {
        {.iov_base = (void *)before, .iov_len = before_count},
        {.iov_base = (void *)bytes, .iov_len = count},
        {.iov_base = (void *)after, .iov_len = after_count},
    };
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = sizeof parts / sizeof *parts};
    int flags = MSG_DONTWAIT;
#ifdef __linux__
    flags |= MSG_NOSIGNAL;
#endif
    ssize_t sent;
    do sent = sendmsg(socket, &message, flags);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : sent;
}

ssize_t sys_sendfile(int socket, int file, int64_t offset, size_t count) {
#ifdef __linux__
    off_t position = offset;
    ssize_t sent;
    do sent = sendfile(socket, file, &position, count);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : sent;
#else
    (void)socket, (void)file, (void)offset, (void)count;
    return -ENOSYS;
#endif
}

int sys_wait_readable(int socket, int milliseconds) {
    struct pollfd wanted = {.fd = socket, .events = POLLIN};
    int ready = poll(&wanted, 1, milliseconds);
    return ready < 0 ? -errno : ready;
}

int sys_has_hung_up(int socket) {
#ifdef POLLRDHUP
    struct pollfd wanted = {.fd = socket, .events = POLLRDHUP};
    return poll(&wanted, 1, 0) > 0;
#else
    char byte;
    return recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
#endif
}

int sys_can_watch(int descriptor) {
#ifdef __linux__
    int watching = epoll_create1(EPOLL_CLOEXEC);
    if (watching < 0) return 0;
    struct epoll_event event = {.events = EPOLLIN};
    int result = epoll_ctl(watching, EPOLL_CTL_ADD, descriptor, &event);
    close(watching);
    return result == 0;
#else
    return 1;
#endif
}

int64_t sys_acknowledged(int socket) {
#ifdef __linux__
    struct tcp_info info;
    socklen_t size = sizeof info;
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return -1;
    // Older systems return a shorter structure.
    if (size < offsetof(struct tcp_info, tcpi_notsent_bytes) + sizeof info.tcpi_notsent_bytes) return -1;
    return info.tcpi_unacked > 0 || info.tcpi_notsent_bytes > 0 ? (int64_t)info.tcpi_bytes_acked : -1;
#else
    (void)socket;
    return -1;
#endif
}

int sys_is_memory(int file) {
#ifdef __linux__
    struct statfs info;
    if (fstatfs(file, &info) != 0) return 0;
    return (unsigned long)info.f_type == 0x01021994UL || ((unsigned long)info.f_type & 0xFFFFFFFFUL) == 0x858458F6UL;
#else
    (void)file;
    return 0;
#endif
}

int64_t sys_raise_file_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 256;
    if (limit.rlim_cur < limit.rlim_max) {
        struct rlimit raised = {.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
        // Above a million, the kernel's tables cost more than any use of them is worth.
        if (raised.rlim_cur > 1048576) raised.rlim_cur = 1048576;
#ifdef __APPLE__
        // It refuses more than this, though the hard limit says that there is none.
        int most = OPEN_MAX;
        size_t size = sizeof most;
        (void)sysctlbyname("kern.maxfilesperproc", &most, &size, NULL, 0);
        if (raised.rlim_cur > (rlim_t)most) raised.rlim_cur = (rlim_t)most;
#endif
        if (raised.rlim_cur > limit.rlim_cur && setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
    }
    return limit.rlim_cur > 1048576 ? 1048576 : (int64_t)limit.rlim_cur;
}

int64_t sys_inherited_files(void) {
    static _Atomic int64_t known = -1;
    if (known >= 0) return known;
#ifdef __APPLE__
    DIR *folder = opendir("/dev/fd");
#else
    DIR *folder = opendir("/proc/self/fd");
#endif
    // Without a descriptor for this, there is none for anything else either.
    if (folder == NULL) return errno == EMFILE ? INT32_MAX : 0;
    int64_t count = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        int number = atoi(entry->d_name);
        if (number > STDERR_FILENO && number != dirfd(folder)) count++;
    }
    closedir(folder);
    known = count;
    return count;
}

void sys_lower_file_limit(int64_t most) {
    struct rlimit limit;
    if (most < 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max <= (rlim_t)most) return;
    limit = (struct rlimit){.rlim_cur = (rlim_t)most, .rlim_max = (rlim_t)most};
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

int64_t sys_file_size_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return -1;
    return (int64_t)limit.rlim_cur;
}

const int sys_again = EAGAIN;
const int sys_not_supported = EOPNOTSUPP;
const int sys_no_call = ENOSYS;
const int sys_invalid = EINVAL;
