/* malloc and its relatives, counted and handed on to glibc under the names it keeps for that purpose. What is freed is not
 * counted, so free stays glibc's own. Shared libraries find these definitions because the executable's come first. */
#include "CCounters.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CALLOCATIONCOUNT_IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CALLOCATIONCOUNT_IS_SANITIZED 1
#endif
#endif

#if defined(__GLIBC__) && !defined(CALLOCATIONCOUNT_IS_SANITIZED)

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static _Thread_local uint64_t thread_count;
static _Atomic uint64_t process_count;

static void count(void) {
    thread_count += 1;
    atomic_fetch_add_explicit(&process_count, 1, memory_order_relaxed);
}

void *malloc(size_t size) {
    count();
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count();
    return __libc_calloc(number, size);
}

void *realloc(void *old, size_t size) {
    count();
    return __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size) {
    count();
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **result, size_t alignment, size_t size) {
    void *start = memalign(alignment, size);
    if (!start) { return ENOMEM; }
    *result = start;
    return 0;
}

int32_t callocationcount_is_counting(void) { return 1; }
uint64_t callocationcount_of_thread(void) { return thread_count; }
uint64_t callocationcount_of_process(void) { return atomic_load_explicit(&process_count, memory_order_relaxed); }

#else

int32_t callocationcount_is_counting(void) { return 0; }
uint64_t callocationcount_of_thread(void) { return 0; }
uint64_t callocationcount_of_process(void) { return 0; }

#endif
