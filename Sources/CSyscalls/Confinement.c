#define _GNU_SOURCE
#include "include/Confinement.h"

#include <errno.h>

#ifdef __linux__
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdint.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// The kernel's numbers, since older systems' headers lack the newer rights.
enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446, PATH_BENEATH = 1, GET_VERSION = 1 };
enum {
    EXECUTE = 1 << 0, WRITE_FILE = 1 << 1, READ_FILE = 1 << 2, READ_DIR = 1 << 3, REFER = 1 << 13, TRUNCATE = 1 << 14,
    // From executing to making symbolic links: all rights of version 1.
    FIRST = (1 << 13) - 1,
    OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE,
};

struct ruleset {
    uint64_t fs;
};

struct rule {
    uint64_t allowed;
    int32_t parent;
} __attribute__((packed));

static uint64_t rights(void) {
    long version = syscall(CREATE_RULESET, NULL, 0, GET_VERSION);
    if (version < 1) return 0;
    uint64_t all = FIRST;
    if (version >= 2) all |= REFER;
    if (version >= 3) all |= TRUNCATE;
    return all;
}

int sys_confinement_begin(void) {
    struct ruleset attributes = {.fs = rights()};
    // Without REFER, version 1 forbids every rename between directories.
    if (!(attributes.fs & REFER)) return -ENOSYS;
    long set = syscall(CREATE_RULESET, &attributes, sizeof attributes, 0);
    return set < 0 ? -errno : (int)set;
}

int sys_confinement_allow(int set, const char *path, bool writable) {
    struct rule rule = {.allowed = writable ? rights() & ~(uint64_t)EXECUTE : READ_FILE | READ_DIR};
    rule.parent = open(path, O_PATH | O_CLOEXEC);
    if (rule.parent < 0) return -errno;
    struct stat status;
    if (fstat(rule.parent, &status) == 0 && !S_ISDIR(status.st_mode)) rule.allowed &= OF_FILES;
    long done = syscall(ADD_RULE, set, PATH_BENEATH, &rule, 0);
    int error = errno;
    close(rule.parent);
    return done < 0 ? -error : 0;
}

int sys_confinement_enter(int set) {
    long done = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (done == 0) done = syscall(RESTRICT_SELF, set, 0);
    int error = errno;
    close(set);
    return done < 0 ? -error : 0;
}

int sys_find_user(const char *user, uint32_t *uid, uint32_t *gid) {
    errno = 0;
    struct passwd *entry = getpwnam(user);
    if (!entry) return errno == 0 ? -ENOENT : -errno;
    *uid = entry->pw_uid;
    *gid = entry->pw_gid;
    return 0;
}

int sys_groups_of(uint32_t uid, uint32_t *groups, int room) {
    struct passwd *entry = getpwuid(uid);
    if (!entry) return 0;
    int count = room;
    getgrouplist(entry->pw_name, entry->pw_gid, groups, &count);
    return count < room ? count : room;
}

// The last two calls return the previous id and report no error. The kernel takes root's capabilities over files from a
// thread for as long as its file system user is another one. The C library would change the groups of all threads.
void sys_files_as(uint32_t uid, uint32_t gid, const uint32_t *groups, int count) {
#ifdef SYS_setgroups32
    syscall(SYS_setgroups32, (size_t)count, groups);
#else
    syscall(SYS_setgroups, (size_t)count, groups);
#endif
    setfsgid(gid);
    setfsuid(uid);
}

int sys_become(const char *user) {
    uint32_t uid, gid;
    int found = sys_find_user(user, &uid, &gid);
    if (found != 0) return found;
    if (initgroups(user, gid) != 0 || setresgid(gid, gid, gid) != 0) return -errno;
    return setresuid(uid, uid, uid) == 0 ? 0 : -errno;
}

#else

int sys_confinement_begin(void) { return -ENOSYS; }
int sys_confinement_allow(int set, const char *path, bool writable) { return -ENOSYS; }
int sys_confinement_enter(int set) { return -ENOSYS; }
int sys_find_user(const char *user, uint32_t *uid, uint32_t *gid) { return -ENOSYS; }
int sys_groups_of(uint32_t uid, uint32_t *groups, int room) { return 0; }
void sys_files_as(uint32_t uid, uint32_t gid, const uint32_t *groups, int count) {}
int sys_become(const char *user) { return -ENOSYS; }

#endif
