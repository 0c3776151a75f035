/* Faults below LevelDB: an environment that fails, shortens and slows what LevelDB asks of the operating system.
 *
 * For tests only. The environment stands on `leveldb::Env::Default()` and is handed to LevelDB through its C API, whose
 * `leveldb_env_t` is opaque: this code repeats its layout, and is therefore pinned to LevelDB 1.23 and refuses every
 * other version, when it is compiled and when it is run.
 *
 * Nothing reaches the disk for certain: a sync hands its bytes to the operating system and waits for nothing. These
 * faults strike a process, not a machine. All functions may be called from any thread.
 */
#ifndef CLEVELDBFAULTS_H
#define CLEVELDBFAULTS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct leveldb_env_t;
struct stratus_fault_environment;
typedef struct stratus_fault_environment stratus_fault_environment;

/* Requests that can fail. LevelDB's own log for people (LOG) is not among them. */
typedef enum stratus_fault_point {
    stratus_fault_append = 0,
    stratus_fault_flush = 1,
    stratus_fault_sync = 2,
    stratus_fault_close = 3,
    stratus_fault_rename = 4,
    stratus_fault_remove = 5,
    /* Files to write: new ones and ones to append to. */
    stratus_fault_open_writable = 6,
    stratus_fault_open_sequential = 7,
    stratus_fault_open_random = 8,
    stratus_fault_read_sequential = 9,
    stratus_fault_read_random = 10,
    stratus_fault_list = 11,
    stratus_fault_lock = 12,
    stratus_fault_point_count = 13
} stratus_fault_point;

/* What a request that fails has done nevertheless. */
typedef enum stratus_fault_effect {
    /* Nothing. */
    stratus_fault_refused = 0,
    /* An append has written the first half; a read has lost its second half and reports no error. */
    stratus_fault_shortened = 1,
    /* Everything; only the answer is an error. */
    stratus_fault_done = 2,
    /* A sync has lost what was appended since the one before. */
    stratus_fault_lost = 3
} stratus_fault_effect;

/* Whether the faults are made for this version of LevelDB. */
bool stratus_fault_environment_supports(int major_version, int minor_version);

/* Makes an environment without faults, or returns NULL and sets `*error` to a constant text. */
stratus_fault_environment *stratus_fault_environment_create(const char **error);

/* Waits for work in the background. No database may still use the environment. */
void stratus_fault_environment_destroy(stratus_fault_environment *environment);

/* What `leveldb_options_set_env` wants. It belongs to the environment: it is never given to `leveldb_env_destroy`. */
struct leveldb_env_t *stratus_fault_environment_pointer(stratus_fault_environment *environment);

/* Requests of this kind fail from the `occurrence`th on (1 is the next), `repetitions` of them. Replaces what was armed
 * for this kind before. */
void stratus_fault_environment_arm(
    stratus_fault_environment *environment, stratus_fault_point point, stratus_fault_effect effect,
    uint64_t occurrence, uint64_t repetitions);

/* The disk has room for this many bytes more; then appends are shortened to what fits, and fail. Removing a file makes
 * no room. */
void stratus_fault_environment_limit_disk(stratus_fault_environment *environment, uint64_t byte_count);

/* Every sync takes at least this long. */
void stratus_fault_environment_slow_syncs(stratus_fault_environment *environment, uint64_t microseconds);

/* Nothing fails, nothing is slow, the disk has room again. */
void stratus_fault_environment_disarm(stratus_fault_environment *environment);

/* Called on the thread that has synced a file, with its path. */
typedef void (*stratus_fault_sync_observer)(void *context, const char *path);

/* From now on `observer` is called after each sync that did not fail. NULL ends that. */
void stratus_fault_environment_observe_syncs(
    stratus_fault_environment *environment, stratus_fault_sync_observer observer, void *context);

/* Requests of this kind so far, failed ones included. */
uint64_t stratus_fault_environment_count(const stratus_fault_environment *environment, stratus_fault_point point);

/* Requests that failed so far, those for want of room included. */
uint64_t stratus_fault_environment_fault_count(const stratus_fault_environment *environment);

/* Bytes appended so far. */
uint64_t stratus_fault_environment_appended_byte_count(const stratus_fault_environment *environment);

/* Returns when LevelDB does nothing in the background, and has asked for nothing to be done there. */
void stratus_fault_environment_wait_until_idle(stratus_fault_environment *environment);

#ifdef __cplusplus
}
#endif

#endif
