#include "include/CSyscalls.h"

#include <errno.h>
#include <unistd.h>

const int sys_names_apart = 0, sys_names_confused = 1, sys_names_unknown = 2;

#ifdef __linux__
#include <linux/fs.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

#ifndef FS_CASEFOLD_FL
#define FS_CASEFOLD_FL 0x40000000
#endif

// The types of file systems, since older systems' headers lack some.
enum {
    EXT = 0xEF53, F2FS = 0xF2F52010, TMPFS = 0x01021994, RAMFS = 0x858458F6, BTRFS = 0x9123683E,
    FAT = 0x4D44, EXFAT = 0x2011BAB0, NTFS = 0x5346544E, NTFS3 = 0x7366746E, HFS = 0x4244, HFS_PLUS = 0x482B,
    HFS_X = 0x4858, SMB = 0x517B, CIFS = 0xFF534D42, SMB2 = 0xFE534D42, XFS = 0x58465342, OVERLAY = 0x794C7630,
    BCACHEFS = 0xCA451A4E,
};

// XFS can be created to ignore the case of ASCII letters, which no flag of a directory shows. Its own headers are
// seldom installed.
struct xfs_geometry {
    uint64_t counts[8];
    uint8_t uuid[16];
    uint32_t stripe[2];
    int32_t version;
    uint32_t flags;
    uint32_t sizes[3];
};
#define XFS_GEOMETRY _IOR('X', 100, struct xfs_geometry)
enum { XFS_IGNORES_CASE = 1 << 13 };

static int xfs_names_kind(int directory) {
    struct xfs_geometry geometry;
    if (ioctl(directory, XFS_GEOMETRY, &geometry) != 0) return sys_names_unknown;
    return geometry.flags & XFS_IGNORES_CASE ? sys_names_confused : sys_names_apart;
}

int sys_names_kind(int directory) {
    // On one file system, one directory may ignore case while another does not.
    unsigned flags = 0;
    int described = ioctl(directory, FS_IOC_GETFLAGS, &flags);
    int answer = described == 0 ? 0 : errno;
    if (answer == 0 && flags & FS_CASEFOLD_FL) return sys_names_confused;
    struct statfs info;
    if (fstatfs(directory, &info) != 0) return sys_names_unknown;
    switch ((unsigned)info.f_type) {
    // An overlay has the flags of the directory below it.
    case OVERLAY:
    case BCACHEFS:
    case EXT:
    case F2FS: return answer == 0 ? sys_names_apart : sys_names_unknown;
    // Older kernels' tmpfs has no such flags, and compares names byte by byte.
    case TMPFS: return answer == 0 || answer == ENOTTY ? sys_names_apart : sys_names_unknown;
    case BTRFS:
    case RAMFS: return sys_names_apart;
    case XFS: return xfs_names_kind(directory);
    case FAT:
    case EXFAT:
    case NTFS:
    case NTFS3:
    case HFS:
    case HFS_PLUS:
    case HFS_X:
    case SMB:
    case CIFS:
    case SMB2: return sys_names_confused;
    default: return sys_names_unknown;
    }
}

#else

int sys_names_kind(int directory) {
#ifdef _PC_CASE_SENSITIVE
    if (fpathconf(directory, _PC_CASE_SENSITIVE) == 0) return sys_names_confused;
#endif
    return sys_names_unknown;
}

#endif
