// SQLite as a careful C programmer uses it for this job: one schema for all workloads, statements that are prepared
// once, rows that are copied out. The schema and the statements are in csqlite.c, and on the results page.

#ifndef CSQLITE_H
#define CSQLITE_H

#include <stddef.h>
#include <stdint.h>

/// A text or blob of a page: where it begins in the page's bytes, and its length. A negative length is NULL.
typedef struct {
    size_t start;
    int length;
} csqlite_bytes;

/// A record. All columns of its row, the names of its type and of its parent among them.
typedef struct {
    csqlite_bytes name, type, parent, share, user, title, digest;
    int64_t change, size, mode;
    double created, modified;
} csqlite_record;

/// Records and their bytes. What is in it stays until it is cleared; its memory is used again.
typedef struct {
    csqlite_record *records;
    size_t count, capacity;
    char *bytes;
    size_t byte_count, byte_capacity;
} csqlite_page;

void csqlite_page_clear(csqlite_page *page);
void csqlite_page_free(csqlite_page *page);
/// Appends a record without values. NULL where there is no memory.
csqlite_record *csqlite_page_append(csqlite_page *page);
/// Copies bytes into the page. Returns 0 where there is no memory.
int csqlite_page_copy(csqlite_page *page, csqlite_bytes *to, const void *from, int length);

/// A connection and its statements. One thread at a time uses it.
typedef struct csqlite csqlite;

/// Opens a database file, creates the schema where it is missing, and prepares all statements. On failure it returns
/// NULL and a static text of what failed.
csqlite *csqlite_open(
    const char *path, int64_t cache_byte_count, int64_t mapped_byte_count, int page_byte_count, const char **failure);
void csqlite_close(csqlite *connection);
/// What SQLite says of the last failure.
const char *csqlite_message(const csqlite *connection);

/// The row IDs of a zone and of a type, which are created where they are missing. Negative: failed.
int64_t csqlite_zone(csqlite *connection, const char *name);
int64_t csqlite_type(csqlite *connection, const char *name);

// Each function below returns 0, or SQLite's code of a failure.

/// Begins and ends a transaction that reads.
int csqlite_begin(csqlite *connection);
int csqlite_end(csqlite *connection);

/// Saves the records of a page in one durable commit.
int csqlite_save(csqlite *connection, int64_t zone, const csqlite_page *records);
/// Appends the records that have the names of a page's records.
int csqlite_fetch(csqlite *connection, int64_t zone, const csqlite_page *names, csqlite_page *records);
/// Appends the records that changed after `change`, in the order of changes.
int csqlite_changes(csqlite *connection, int64_t zone, int64_t change, int limit, csqlite_page *records);
/// Creates the index that queries by size need, and the planner's statistics.
int csqlite_index_sizes(csqlite *connection);
/// Appends the records of a type whose size is in a range, in the order of sizes.
int csqlite_sizes(
    csqlite *connection, int64_t zone, int64_t type, int64_t low, int64_t high, int limit, csqlite_page *records);
/// Appends the records of a type with the largest sizes, the largest first.
int csqlite_largest(csqlite *connection, int64_t zone, int64_t type, int limit, csqlite_page *records);
/// Counts the names of a page whose records have a share at or above them.
int csqlite_shared(csqlite *connection, int64_t zone, const csqlite_page *names, size_t *count);
/// Counts the records below the first name of a page, reading the name of each.
int csqlite_below(csqlite *connection, int64_t zone, const csqlite_page *name, size_t *count);
/// Moves the log into the database file.
int csqlite_checkpoint(csqlite *connection);
/// Sets `scanned` to a statement whose plan scans a table or sorts. Queries by size need their index.
int csqlite_check_plans(csqlite *connection, int with_sizes, const char **scanned);

/// The schema, and the text of statement `index`, NULL after the last.
const char *csqlite_schema(void);
const char *csqlite_statement_text(int index);

#endif
