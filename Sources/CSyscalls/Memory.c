#define _GNU_SOURCE
#include "include/Memory.h"

#ifdef __linux__
#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static int forget(struct dl_phdr_info *object, size_t size, void *page) {
    (void)size;
    uintptr_t mask = *(uintptr_t *)page - 1;
    for (int index = 0; index < object->dlpi_phnum; index++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[index];
        if (part->p_type != PT_LOAD || part->p_flags & PF_W) continue;
        uintptr_t start = (object->dlpi_addr + part->p_vaddr + mask) & ~mask;
        uintptr_t end = (object->dlpi_addr + part->p_vaddr + part->p_filesz) & ~mask;
        if (end > start) madvise((void *)start, end - start, MADV_DONTNEED);
    }
    return 0;
}

void sys_forget_code(void) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    dl_iterate_phdr(forget, &page);
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

void sys_give_back_large_blocks(void) {
#ifdef __GLIBC__
    // Larger than every buffer of a transfer, so that these are not mapped again each time. By default glibc raises
    // this threshold up to 32 MiB.
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    mallopt(M_TRIM_THRESHOLD, 4 << 20);
#endif
}

void sys_give_back_free_memory(size_t bytes) {
#ifdef __GLIBC__
    if (mallinfo2().fordblks > bytes) malloc_trim(0);
#else
    (void)bytes;
#endif
}
#else
void sys_forget_code(void) {}

void sys_give_back_large_blocks(void) {}

void sys_give_back_free_memory(size_t bytes) { (void)bytes; }
#endif
