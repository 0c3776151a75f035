/* Starts a program with posix_spawn, of which Swift's module of the C library shows only a part. Tests only.
 */
#ifndef CTESTPROCESS_H
#define CTESTPROCESS_H

#include <stdint.h>

/* Starts `path` with the null-terminated lists `words` and `variables`, in `directory` where it is not null. The child has
 * these three descriptors as its first ones, and no others; `output` is not 0 and `errors` is not 0 or 1. Returns its number, or a negated errno.
 */
int32_t cchildprocess_start(const char *path, char *const words[], char *const variables[], const char *directory,
                            int32_t input, int32_t output, int32_t errors);

#endif
