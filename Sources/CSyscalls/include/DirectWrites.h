#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Writing past the page cache (O_DIRECT), several pieces at once, with Linux's own asynchronous I/O. Returns -errno,
// -ENOSYS if the system has none.

/// Whether such writes cost less: 1 on ext4 and XFS that report the required alignment (no more than 4,096) and are not
/// striped over several disks, where a piece that does not fill a stripe needs others to be read first; 0 elsewhere.
int sys_likes_direct_writes(int descriptor);

/// Whether later writes to the file bypass the page cache. Returns 0 or -errno.
int sys_write_directly(int descriptor, bool on);

/// Creates a queue for `most` pieces at once.
int sys_pieces_begin(unsigned most, uint64_t *queue);

/// Ends the queue; waits for the pieces that are being written.
void sys_pieces_end(uint64_t queue);

/// Starts writing a piece, and does not wait for it if the file has allocated blocks for it: the bytes must not be
/// changed until it is done. `mark` identifies the piece.
int sys_piece_write(
    uint64_t queue, int descriptor, const void *bytes, size_t count, int64_t offset, uint64_t mark);

/// Takes a piece that is done: returns 1, with the return value of its write as `result`; returns 0 if none is done and
/// `waits` is false.
int sys_piece_done(uint64_t queue, bool waits, uint64_t *mark, int64_t *result);

/// Asks for the largest pages there are: the fewer pages a disk is given, the less a piece costs.
void sys_prefer_large_pages(void *bytes, size_t count);

/// Gives the memory back; the bytes are zero from now on.
void sys_give_back_pages(void *bytes, size_t count);
