"""Counts what a server allocates, in the program itself: each allocation, and those that are still in use."""

import collections
import struct
import subprocess
import time

COUNTER = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);
static _Atomic int64_t none[2];
static _Atomic int64_t *counts = none;

__attribute__((constructor)) static void begin(void) {
    int file = open(getenv("ALLOCATION_COUNTS"), O_RDWR | O_CLOEXEC);
    void *page = file < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (page != MAP_FAILED) counts = page;
}
static void *made(void *memory) {
    atomic_fetch_add_explicit(&counts[0], 1, memory_order_relaxed);
    if (memory) atomic_fetch_add_explicit(&counts[1], 1, memory_order_relaxed);
    return memory;
}
void *malloc(size_t size) { return made(__libc_malloc(size)); }
void *calloc(size_t members, size_t size) { return made(__libc_calloc(members, size)); }
void *memalign(size_t alignment, size_t size) { return made(__libc_memalign(alignment, size)); }
void *aligned_alloc(size_t alignment, size_t size) { return made(__libc_memalign(alignment, size)); }
int posix_memalign(void **memory, size_t alignment, size_t size) {
    *memory = made(__libc_memalign(alignment, size));
    return *memory == NULL ? 12 : 0;
}
void free(void *memory) {
    if (memory) atomic_fetch_sub_explicit(&counts[1], 1, memory_order_relaxed);
    __libc_free(memory);
}
void *realloc(void *old, size_t size) {
    if (!old) return malloc(size);
    if (size == 0) return free(old), NULL;
    atomic_fetch_add_explicit(&counts[0], 1, memory_order_relaxed);
    return __libc_realloc(old, size);
}
"""

Allocations = collections.namedtuple("Allocations", "made in_use")


def with_counts(serve, folder, *options):
    """A server whose allocations are counted, and whose start is over; its `allocations()` says how many there were."""
    source, library, page = folder / "count.c", folder / "count.so", folder / "count"
    source.write_text(COUNTER)
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(source)], check=True)
    page.write_bytes(bytes(4096))
    server = serve("-q", *options, environment={"LD_PRELOAD": str(library), "ALLOCATION_COUNTS": str(page)})
    server.allocations = lambda: Allocations(*struct.unpack("qq", page.read_bytes()[:16]))
    assert settled(server.allocations).made > 1_000
    return server


def settled(read):
    """What `read` gives once that no longer changes: what others do on threads of their own is over."""
    last = None
    while last != (now := read()):
        last = now
        time.sleep(0.2)
    return last
