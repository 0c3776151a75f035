// SQLite as a contestant: a connection, its statements and the rows it copies out.
//
// Invariants: a statement is reset after each use, so that it holds no snapshot; bytes of a page move when it grows, so
// records name them by their place.

#include "CSQLite.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

// Zones and types are interned. Records have row IDs, and parents are row IDs, so that a walk up the hierarchy and the
// parent's name of a result are one descent of the table each.
static const char schema[] =
    "CREATE TABLE IF NOT EXISTS zones (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);\n"
    "CREATE TABLE IF NOT EXISTS types (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);\n"
    "CREATE TABLE IF NOT EXISTS records (\n"
    "    id INTEGER PRIMARY KEY, zone INTEGER NOT NULL, name TEXT NOT NULL, type INTEGER NOT NULL,\n"
    "    parent INTEGER, share TEXT, change INTEGER NOT NULL,\n"
    "    created REAL NOT NULL, modified REAL NOT NULL, user TEXT NOT NULL,\n"
    "    title TEXT, size INTEGER, mode INTEGER, digest BLOB);\n"
    "CREATE UNIQUE INDEX IF NOT EXISTS recordsByName ON records (zone, name);\n"
    "CREATE INDEX IF NOT EXISTS recordsByParent ON records (zone, parent);\n"
    "CREATE INDEX IF NOT EXISTS recordsByType ON records (zone, type);\n"
    "CREATE INDEX IF NOT EXISTS recordsByChange ON records (zone, change);\n";

static const char size_index[] =
    "CREATE INDEX IF NOT EXISTS recordsBySize ON records (zone, type, size); ANALYZE";

#define COLUMNS \
    "r.name, r.type, p.name, r.share, r.change, r.created, r.modified, r.user, r.title, r.size, r.mode, r.digest"
#define SOURCES "records AS r LEFT JOIN records AS p ON p.id = r.parent"

enum statement {
    BEGIN_READING, BEGIN_WRITING, COMMIT, ROLLBACK,
    SAVE, FETCH, CHANGES, SIZES, LARGEST, SHARE, BELOW,
    STATEMENT_COUNT
};

static const char *const texts[STATEMENT_COUNT] = {
    [BEGIN_READING] = "BEGIN",
    [BEGIN_WRITING] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [ROLLBACK] = "ROLLBACK",
    [SAVE] =
        "INSERT INTO records"
        " (zone, name, type, parent, share, change, created, modified, user, title, size, mode, digest)"
        " VALUES (?1, ?2, ?3, (SELECT id FROM records WHERE zone = ?1 AND name = ?4),"
        " ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)"
        " ON CONFLICT (zone, name) DO UPDATE SET type = excluded.type, parent = excluded.parent,"
        " share = excluded.share, change = excluded.change, modified = excluded.modified, user = excluded.user,"
        " title = excluded.title, size = excluded.size, mode = excluded.mode, digest = excluded.digest",
    [FETCH] = "SELECT " COLUMNS " FROM " SOURCES " WHERE r.zone = ?1 AND r.name = ?2",
    [CHANGES] =
        "SELECT " COLUMNS " FROM " SOURCES " WHERE r.zone = ?1 AND r.change > ?2 ORDER BY r.change LIMIT ?3",
    [SIZES] =
        "SELECT " COLUMNS " FROM " SOURCES
        " WHERE r.zone = ?1 AND r.type = ?2 AND r.size BETWEEN ?3 AND ?4 ORDER BY r.size LIMIT ?5",
    [LARGEST] =
        "SELECT " COLUMNS " FROM " SOURCES " WHERE r.zone = ?1 AND r.type = ?2 ORDER BY r.size DESC LIMIT ?3",
    [SHARE] =
        "WITH RECURSIVE chain (parent, share) AS ("
        " SELECT parent, share FROM records WHERE zone = ?1 AND name = ?2 UNION ALL"
        " SELECT above.parent, above.share FROM chain JOIN records AS above ON above.id = chain.parent"
        " WHERE chain.share IS NULL)"
        " SELECT share FROM chain WHERE share IS NOT NULL LIMIT 1",
    [BELOW] =
        "WITH RECURSIVE below (id, name) AS ("
        " SELECT id, name FROM records WHERE zone = ?1 AND parent ="
        " (SELECT id FROM records WHERE zone = ?1 AND name = ?2) UNION ALL"
        " SELECT child.id, child.name FROM below JOIN records AS child"
        " ON child.zone = ?1 AND child.parent = below.id)"
        " SELECT name FROM below",
};

// Types are few: a program keeps their names, as it would keep an enumeration.
enum { TYPE_CAPACITY = 16, TYPE_NAME_CAPACITY = 64 };

struct csqlite {
    sqlite3 *database;
    sqlite3_stmt *statements[STATEMENT_COUNT];
    struct {
        char name[TYPE_NAME_CAPACITY];
        int length;
        int64_t id;
    } types[TYPE_CAPACITY];
    int type_count;
};

const char *csqlite_schema(void) { return schema; }

const char *csqlite_statement_text(int index) {
    return index >= 0 && SAVE + index < STATEMENT_COUNT ? texts[SAVE + index] : NULL;
}

const char *csqlite_message(const csqlite *connection) { return sqlite3_errmsg(connection->database); }

// MARK: Pages

void csqlite_page_clear(csqlite_page *page) { page->count = page->byte_count = 0; }

void csqlite_page_free(csqlite_page *page) {
    free(page->records);
    free(page->bytes);
    memset(page, 0, sizeof *page);
}

csqlite_record *csqlite_page_append(csqlite_page *page) {
    if (page->count == page->capacity) {
        size_t capacity = page->capacity ? page->capacity * 2 : 128;
        csqlite_record *records = realloc(page->records, capacity * sizeof *records);
        if (!records) return NULL;
        page->records = records;
        page->capacity = capacity;
    }
    csqlite_record *record = &page->records[page->count++];
    memset(record, 0, sizeof *record);
    return record;
}

int csqlite_page_copy(csqlite_page *page, csqlite_bytes *to, const void *from, int length) {
    to->start = page->byte_count;
    to->length = from ? length : -1;
    if (!from || length == 0) return 1;
    if (page->byte_capacity - page->byte_count < (size_t)length) {
        size_t capacity = (page->byte_capacity ? page->byte_capacity : 16384) * 2 + (size_t)length;
        char *bytes = realloc(page->bytes, capacity);
        if (!bytes) return 0;
        page->bytes = bytes;
        page->byte_capacity = capacity;
    }
    memcpy(page->bytes + page->byte_count, from, (size_t)length);
    page->byte_count += (size_t)length;
    return 1;
}

// MARK: Opening and closing

static int run(sqlite3 *database, const char *text) { return sqlite3_exec(database, text, NULL, NULL, NULL); }

static int configure(sqlite3 *database, int64_t cache, int64_t mapped, int page) {
    char text[512];
    sqlite3_snprintf(
        sizeof text, text,
        "PRAGMA page_size = %d; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -%lld;"
        "PRAGMA mmap_size = %lld; PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = 10000",
        page, (long long)(cache >> 10), (long long)mapped);
    return run(database, text);
}

csqlite *csqlite_open(
    const char *path, int64_t cache_byte_count, int64_t mapped_byte_count, int page_byte_count, const char **failure) {
    csqlite *connection = calloc(1, sizeof *connection);
    *failure = "SQLite has no memory.";
    if (!connection) return NULL;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(path, &connection->database, flags, NULL) != SQLITE_OK) {
        *failure = "SQLite cannot open its file.";
    } else if (configure(connection->database, cache_byte_count, mapped_byte_count, page_byte_count) != SQLITE_OK) {
        *failure = "SQLite refuses its settings.";
    } else if (run(connection->database, schema) != SQLITE_OK) {
        *failure = "SQLite refuses the schema.";
    } else {
        *failure = NULL;
        for (int index = 0; index < STATEMENT_COUNT && !*failure; index++) {
            int status = sqlite3_prepare_v3(
                connection->database, texts[index], -1, SQLITE_PREPARE_PERSISTENT, &connection->statements[index],
                NULL);
            if (status != SQLITE_OK) *failure = texts[index];
        }
        if (!*failure) return connection;
    }
    csqlite_close(connection);
    return NULL;
}

void csqlite_close(csqlite *connection) {
    if (!connection) return;
    for (int index = 0; index < STATEMENT_COUNT; index++) sqlite3_finalize(connection->statements[index]);
    sqlite3_close(connection->database);
    free(connection);
}

int csqlite_check_plans(csqlite *connection, int with_sizes, const char **scanned) {
    *scanned = NULL;
    for (int index = SAVE + 1; index < STATEMENT_COUNT; index++) {
        if (!with_sizes && (index == SIZES || index == LARGEST)) continue;
        char *text = sqlite3_mprintf("EXPLAIN QUERY PLAN %s", texts[index]);
        sqlite3_stmt *plan = NULL;
        int status = sqlite3_prepare_v2(connection->database, text, -1, &plan, NULL);
        sqlite3_free(text);
        if (status != SQLITE_OK) return status;
        while (sqlite3_step(plan) == SQLITE_ROW) {
            const char *step = (const char *)sqlite3_column_text(plan, 3);
            int scans = step && !strncmp(step, "SCAN ", 5) && strncmp(step, "SCAN chain", 10)
                && strncmp(step, "SCAN below", 10);
            int sorts = step && !strncmp(step, "USE TEMP B-TREE", 15);
            if (scans || sorts) *scanned = texts[index];
        }
        sqlite3_finalize(plan);
    }
    return SQLITE_OK;
}

// MARK: Statements

/// Resets a statement whose rows were read. Its own failure is reported by the last step.
static int finish(sqlite3_stmt *statement, int status) {
    sqlite3_reset(statement);
    return status == SQLITE_DONE || status == SQLITE_ROW ? SQLITE_OK : status;
}

static int once(csqlite *connection, enum statement which) {
    sqlite3_stmt *statement = connection->statements[which];
    return finish(statement, sqlite3_step(statement));
}

int csqlite_begin(csqlite *connection) { return once(connection, BEGIN_READING); }
int csqlite_end(csqlite *connection) { return once(connection, COMMIT); }
int csqlite_index_sizes(csqlite *connection) { return run(connection->database, size_index); }

int csqlite_checkpoint(csqlite *connection) {
    return sqlite3_wal_checkpoint_v2(connection->database, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
}

static int64_t interned(csqlite *connection, const char *insert, const char *select, const char *name, int length) {
    int64_t id = -1;
    // Only a name that is missing is written.
    for (int index = 0; index < 3 && id < 0; index++) {
        sqlite3_stmt *statement = NULL;
        if (sqlite3_prepare_v2(connection->database, index == 1 ? insert : select, -1, &statement, NULL)) return -1;
        sqlite3_bind_text(statement, 1, name, length, SQLITE_STATIC);
        if (sqlite3_step(statement) == SQLITE_ROW) id = sqlite3_column_int64(statement, 0);
        sqlite3_finalize(statement);
    }
    return id;
}

int64_t csqlite_zone(csqlite *connection, const char *name) {
    return interned(
        connection, "INSERT OR IGNORE INTO zones (name) VALUES (?1)", "SELECT id FROM zones WHERE name = ?1", name, -1);
}

static int keep_type(csqlite *connection, int64_t id, const char *name, int length) {
    if (connection->type_count == TYPE_CAPACITY || length >= TYPE_NAME_CAPACITY) return 0;
    int index = connection->type_count++;
    memcpy(connection->types[index].name, name, (size_t)length);
    connection->types[index].length = length;
    connection->types[index].id = id;
    return 1;
}

/// The row ID of a type; negative where it cannot be created or kept.
static int64_t type_id(csqlite *connection, const char *name, int length) {
    for (int index = 0; index < connection->type_count; index++) {
        if (connection->types[index].length == length && !memcmp(connection->types[index].name, name, (size_t)length)) {
            return connection->types[index].id;
        }
    }
    int64_t id = interned(
        connection, "INSERT OR IGNORE INTO types (name) VALUES (?1)", "SELECT id FROM types WHERE name = ?1", name,
        length);
    return id >= 0 && keep_type(connection, id, name, length) ? id : -1;
}

/// Copies the name of a type into a page. Another connection may have created it.
static int copy_type(csqlite *connection, csqlite_page *page, csqlite_bytes *to, int64_t id) {
    for (int index = 0; index < connection->type_count; index++) {
        if (connection->types[index].id == id) {
            return csqlite_page_copy(page, to, connection->types[index].name, connection->types[index].length);
        }
    }
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(connection->database, "SELECT name FROM types WHERE id = ?1", -1, &statement, NULL)) return 0;
    sqlite3_bind_int64(statement, 1, id);
    int kept = sqlite3_step(statement) == SQLITE_ROW
        && keep_type(
            connection, id, (const char *)sqlite3_column_text(statement, 0), sqlite3_column_bytes(statement, 0));
    sqlite3_finalize(statement);
    return kept && copy_type(connection, page, to, id);
}

int64_t csqlite_type(csqlite *connection, const char *name) {
    return type_id(connection, name, (int)strlen(name));
}

static void bind(sqlite3_stmt *statement, int column, const csqlite_page *page, csqlite_bytes bytes) {
    if (bytes.length < 0) sqlite3_bind_null(statement, column);
    else sqlite3_bind_text(statement, column, page->bytes + bytes.start, bytes.length, SQLITE_STATIC);
}

static int save_one(csqlite *connection, int64_t zone, const csqlite_page *page, const csqlite_record *record) {
    sqlite3_stmt *statement = connection->statements[SAVE];
    int64_t type = type_id(connection, page->bytes + record->type.start, record->type.length);
    if (type < 0) return SQLITE_ERROR;
    sqlite3_bind_int64(statement, 1, zone);
    bind(statement, 2, page, record->name);
    sqlite3_bind_int64(statement, 3, type);
    bind(statement, 4, page, record->parent);
    bind(statement, 5, page, record->share);
    sqlite3_bind_int64(statement, 6, record->change);
    sqlite3_bind_double(statement, 7, record->created);
    sqlite3_bind_double(statement, 8, record->modified);
    bind(statement, 9, page, record->user);
    bind(statement, 10, page, record->title);
    sqlite3_bind_int64(statement, 11, record->size);
    sqlite3_bind_int64(statement, 12, record->mode);
    if (record->digest.length < 0) sqlite3_bind_null(statement, 13);
    else {
        sqlite3_bind_blob(
            statement, 13, page->bytes + record->digest.start, record->digest.length, SQLITE_STATIC);
    }
    return finish(statement, sqlite3_step(statement));
}

int csqlite_save(csqlite *connection, int64_t zone, const csqlite_page *records) {
    int status = once(connection, BEGIN_WRITING);
    if (status) return status;
    for (size_t index = 0; index < records->count; index++) {
        status = save_one(connection, zone, records, &records->records[index]);
        if (status) {
            once(connection, ROLLBACK);
            return status;
        }
    }
    status = once(connection, COMMIT);
    if (status) once(connection, ROLLBACK);
    return status;
}

static int copy_column(csqlite_page *page, csqlite_bytes *to, sqlite3_stmt *statement, int column) {
    const void *bytes = sqlite3_column_blob(statement, column);
    int length = sqlite3_column_bytes(statement, column);
    // An empty text has no address. It is not NULL.
    if (!bytes && sqlite3_column_type(statement, column) != SQLITE_NULL) bytes = "";
    return csqlite_page_copy(page, to, bytes, length);
}

/// Copies the row of a statement that selects COLUMNS.
static int take(csqlite *connection, sqlite3_stmt *statement, csqlite_page *page) {
    csqlite_record *record = csqlite_page_append(page);
    if (!record) return SQLITE_NOMEM;
    record->change = sqlite3_column_int64(statement, 4);
    record->created = sqlite3_column_double(statement, 5);
    record->modified = sqlite3_column_double(statement, 6);
    record->size = sqlite3_column_int64(statement, 9);
    record->mode = sqlite3_column_int64(statement, 10);
    int copied = copy_column(page, &record->name, statement, 0)
        && copy_type(connection, page, &record->type, sqlite3_column_int64(statement, 1))
        && copy_column(page, &record->parent, statement, 2) && copy_column(page, &record->share, statement, 3)
        && copy_column(page, &record->user, statement, 7) && copy_column(page, &record->title, statement, 8)
        && copy_column(page, &record->digest, statement, 11);
    return copied ? SQLITE_OK : SQLITE_NOMEM;
}

static int take_all(csqlite *connection, sqlite3_stmt *statement, csqlite_page *page) {
    int status;
    while ((status = sqlite3_step(statement)) == SQLITE_ROW) {
        int taken = take(connection, statement, page);
        if (taken) {
            sqlite3_reset(statement);
            return taken;
        }
    }
    return finish(statement, status);
}

int csqlite_fetch(csqlite *connection, int64_t zone, const csqlite_page *names, csqlite_page *records) {
    sqlite3_stmt *statement = connection->statements[FETCH];
    for (size_t index = 0; index < names->count; index++) {
        sqlite3_bind_int64(statement, 1, zone);
        bind(statement, 2, names, names->records[index].name);
        int status = take_all(connection, statement, records);
        if (status) return status;
    }
    return SQLITE_OK;
}

int csqlite_changes(csqlite *connection, int64_t zone, int64_t change, int limit, csqlite_page *records) {
    sqlite3_stmt *statement = connection->statements[CHANGES];
    sqlite3_bind_int64(statement, 1, zone);
    sqlite3_bind_int64(statement, 2, change);
    sqlite3_bind_int(statement, 3, limit);
    return take_all(connection, statement, records);
}

int csqlite_sizes(
    csqlite *connection, int64_t zone, int64_t type, int64_t low, int64_t high, int limit, csqlite_page *records) {
    sqlite3_stmt *statement = connection->statements[SIZES];
    sqlite3_bind_int64(statement, 1, zone);
    sqlite3_bind_int64(statement, 2, type);
    sqlite3_bind_int64(statement, 3, low);
    sqlite3_bind_int64(statement, 4, high);
    sqlite3_bind_int(statement, 5, limit);
    return take_all(connection, statement, records);
}

int csqlite_largest(csqlite *connection, int64_t zone, int64_t type, int limit, csqlite_page *records) {
    sqlite3_stmt *statement = connection->statements[LARGEST];
    sqlite3_bind_int64(statement, 1, zone);
    sqlite3_bind_int64(statement, 2, type);
    sqlite3_bind_int(statement, 3, limit);
    return take_all(connection, statement, records);
}

/// Counts the rows of a statement whose first column has bytes.
static int count_rows(sqlite3_stmt *statement, size_t *count) {
    int status;
    while ((status = sqlite3_step(statement)) == SQLITE_ROW) {
        const void *bytes = sqlite3_column_blob(statement, 0);
        if (bytes && sqlite3_column_bytes(statement, 0) > 0) *count += 1;
    }
    return finish(statement, status);
}

int csqlite_shared(csqlite *connection, int64_t zone, const csqlite_page *names, size_t *count) {
    sqlite3_stmt *statement = connection->statements[SHARE];
    *count = 0;
    for (size_t index = 0; index < names->count; index++) {
        sqlite3_bind_int64(statement, 1, zone);
        bind(statement, 2, names, names->records[index].name);
        int status = count_rows(statement, count);
        if (status) return status;
    }
    return SQLITE_OK;
}

int csqlite_below(csqlite *connection, int64_t zone, const csqlite_page *name, size_t *count) {
    sqlite3_stmt *statement = connection->statements[BELOW];
    *count = 0;
    if (name->count == 0) return SQLITE_OK;
    sqlite3_bind_int64(statement, 1, zone);
    bind(statement, 2, name, name->records[0].name);
    return count_rows(statement, count);
}
