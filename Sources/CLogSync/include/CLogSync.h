/* Syncs of LevelDB's log that run beside the insertion of what was logged.
 *
 * LevelDB appends a batch to its log, waits for the sync of the log, and then inserts the batch into memory. For a large
 * batch the two take about as long, and neither needs the other: what must wait for the sync is only who answers for the
 * batch. This environment lets LevelDB go on while the log is synced on a thread of its own, and `finish_sync` waits.
 *
 * A write with `sync` has then returned before it is durable: it is durable when `finish_sync` has returned without an error. Writes
 * with `sync` come from one thread at a time, each followed by `finish_sync`. A compaction that is asked for meanwhile, which
 * exchanges the log, waits for the sync of the one it exchanges.
 *
 * It also reports the log that received the last write, and makes the name of CURRENT durable before LevelDB removes the files that
 * the old CURRENT names: a file system that promises no more than POSIX may do both in either order.
 *
 * LevelDB's C API does not show the layout of `leveldb_env_t`, which this code repeats. It is pinned to LevelDB 1.23, and where
 * another version is loaded there is no such environment.
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

/* Whether the environment is made for this version of LevelDB. */
bool stratus_log_environment_supports(int major_version, int minor_version);

/* Makes an environment on `base`, which must outlive it; on LevelDB's default where that is NULL. Syncs of fewer bytes than
 * `least_byte_count` are waited for at once. Returns NULL where the loaded LevelDB is not the one this is made for. */
stratus_log_environment *stratus_log_environment_create(struct leveldb_env_t *base, size_t least_byte_count);

/* No database may use the environment any more. */
void stratus_log_environment_destroy(stratus_log_environment *environment);

/* What `leveldb_options_set_env` wants. It belongs to the environment: it is never given to `leveldb_env_destroy`. */
struct leveldb_env_t *stratus_log_environment_pointer(stratus_log_environment *environment);

/* Waits for the sync that the last write has begun, if any: what was written is then durable. Otherwise sets `*error`, as
 * LevelDB's functions do, to a text of the caller's, who frees it with `leveldb_free`. */
void stratus_log_environment_finish_sync(stratus_log_environment *environment, char **error);

/* The number of the log that received the last append, 0 where there was none. */
uint64_t stratus_log_environment_written_log(const stratus_log_environment *environment);

#ifdef __cplusplus
}
#endif

#endif
