// Stands in the place of the C library's allocator in the program that it is linked into, Swift's objects and arrays
// included, and counts. What is freed is the library's own: free() is not touched.
#include "AllocationCounter.h"
#include <errno.h>
#include <stddef.h>

// A sanitizer has an allocator of its own, and stands where this one would: nothing is counted then.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)

uint64_t latch_allocation_count(void) { return 0; }

#else

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static _Thread_local uint64_t count;

uint64_t latch_allocation_count(void) { return count; }

void *malloc(size_t size) {
    count++;
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count++;
    return __libc_calloc(number, size);
}

void *realloc(void *block, size_t size) {
    count++;
    return __libc_realloc(block, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count++;
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size) {
    count++;
    void *const made = __libc_memalign(alignment, size);
    if (made == NULL) return ENOMEM;
    *block = made;
    return 0;
}

#endif
