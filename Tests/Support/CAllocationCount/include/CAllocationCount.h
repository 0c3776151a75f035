/* Counts what a process allocates. Whoever links this target has malloc and its relatives go through it. Tests only.
 *
 * Under the address and the thread sanitizer, which have a malloc of their own, and where the C library is not glibc,
 * nothing is replaced and nothing counted. */
#ifndef CALLOCATIONCOUNT_H
#define CALLOCATIONCOUNT_H

#include <stdint.h>

/* Whether anything is counted. */
int32_t callocationcount_is_counting(void);

/* Allocations of the calling thread since it began; giving an allocation another size counts as one. */
uint64_t callocationcount_of_thread(void);

/* Allocations of all threads since the process began. */
uint64_t callocationcount_of_process(void);

#endif
