/* An environment for LevelDB that syncs the log of a large write while LevelDB inserts the write.
 *
 * LevelDB appends a batch to its log, waits for the sync of the log, and then inserts the batch into memory. For a
 * large batch the two take about as long, and neither needs the other: only the acknowledgement of the batch must
 * wait for the sync. This environment syncs the log on its own thread and lets LevelDB continue. `finish_sync`
 * waits for the sync.
 *
 * So a write with `sync` may return before it is durable. It is durable when `finish_sync` has returned without an
 * error. Writes with `sync` come from one thread at a time, each followed by `finish_sync`. A compaction that
 * replaces the log meanwhile waits for the sync of the old one.
 *
 * The environment also reports the log of the last write, and makes the name of CURRENT durable before LevelDB
 * removes the files that the old CURRENT names: a file system that promises no more than POSIX may do both in
 * either order.
 *
 * LevelDB's C API hides the layout of `leveldb_env_t`, which this code repeats. It is pinned to LevelDB 1.23: with
 * another version there is no such environment.
 */
#ifndef CLOGSYNC_H
#define CLOGSYNC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct leveldb_env_t;
struct stratus_log_environment;
typedef struct stratus_log_environment stratus_log_environment;

/* Whether the environment supports this version of LevelDB. */
bool stratus_log_environment_supports(int major_version, int minor_version);

/* Creates an environment on `base`, which must outlive it, or on LevelDB's default if `base` is NULL. Syncs of fewer
 * bytes than `least_byte_count` are waited for at once. Returns NULL if the loaded LevelDB is not supported. */
stratus_log_environment *stratus_log_environment_create(struct leveldb_env_t *base, size_t least_byte_count);

/* Destroys the environment. No database may still use it. */
void stratus_log_environment_destroy(stratus_log_environment *environment);

/* The argument for `leveldb_options_set_env`. The environment owns it: do not pass it to `leveldb_env_destroy`. */
struct leveldb_env_t *stratus_log_environment_pointer(stratus_log_environment *environment);

/* Waits for the sync that the last write has begun, if any. The write is then durable, or `*error` is set to a text,
 * as by LevelDB's functions: the caller frees it with `leveldb_free`. */
void stratus_log_environment_finish_sync(stratus_log_environment *environment, char **error);

/* The number of the log that received the last append, 0 where there was none. */
uint64_t stratus_log_environment_written_log(const stratus_log_environment *environment);

#ifdef __cplusplus
}
#endif

#endif
