#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Writing past what the kernel keeps of files in memory (O_DIRECT), several pieces at a time, by Linux's own
// asynchronous I/O. Answers -errno, -ENOSYS where there is no such thing.

/// Whether it costs less so: 1 on ext4 and XFS that say how such writes are to be aligned (to no more than 4,096), and
/// are not made of stripes over several disks, where a piece that is not all of one has others read first; 0 elsewhere.
int sys_likes_direct_writes(int descriptor);

/// Whether what is written to the file from now on goes past memory. Answers 0 or -errno.
int sys_write_directly(int descriptor, bool on);

/// A queue for `most` pieces at a time.
int sys_pieces_begin(unsigned most, uint64_t *queue);

/// Ends it; waits for the pieces that are being written.
void sys_pieces_end(uint64_t queue);

/// Has a piece written, and does not wait for it where the file has room for it already: until it is done, nobody may
/// change the bytes. `mark` tells it from others.
int sys_piece_write(
    uint64_t queue, int descriptor, const void *bytes, size_t count, int64_t offset, uint64_t mark);

/// Takes a piece that is done; answers 1, and what its write answered as `result`, or 0 where none is done and
/// nobody `waits`.
int sys_piece_done(uint64_t queue, bool waits, uint64_t *mark, int64_t *result);

/// Asks for pages as large as there are: the fewer a disk has to be told of, the less a piece costs.
void sys_prefer_large_pages(void *bytes, size_t count);

/// Gives the memory back; the bytes are zero from now on.
void sys_give_back_pages(void *bytes, size_t count);
