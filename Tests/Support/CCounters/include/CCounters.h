/* Counts what a process does. Tests only.
 *
 * Allocations: programs that link this target use its malloc and relatives. Under the address and the thread sanitizer,
 * which have their own malloc, and if the C library is not glibc, nothing is replaced and nothing counted.
 *
 * Executed functions: the counters of a build with -profile-generate. */
#ifndef CCOUNTERS_H
#define CCOUNTERS_H

#include <stdint.h>

/* Whether anything is counted. */
int32_t callocationcount_is_counting(void);

/* Allocations of the calling thread since it began; giving an allocation another size counts as one. */
uint64_t callocationcount_of_thread(void);

/* Allocations of all threads since the process began. */
uint64_t callocationcount_of_process(void);

/* Sets the counters of all functions to zero. Returns 0, and does nothing, in a build without them. */
int32_t ccounters_reset(void);

/* Writes the counters to the file of the variable LLVM_PROFILE_FILE, and nothing when the process ends. Returns 0 if there
 * are no counters or the file cannot be written. */
int32_t ccounters_write(void);

#endif
