// The tables of a store.
//
// Receipts, the host's lease, its beats and contents have tables of their own: in the table of entries they would be a
// part of every snapshot of records, and neighbours of records conflict.

/// The tables that a store needs, as SQL.
enum Schema {
    /// The statements that create the tables, in their order. They run in one transaction.
    static let tables = [
        // YugabyteDB hashes a primary key unless it is ascending; PostgreSQL has no such word there.
        "CREATE TABLE stratus_entries (k bytea PRIMARY KEY, v bytea NOT NULL)",
        """
        CREATE TABLE stratus_receipts (id bytea PRIMARY KEY, written_by smallint NOT NULL,
            asked integer NOT NULL DEFAULT 0, at timestamptz NOT NULL DEFAULT clock_timestamp())
        """,
        // For upkeep, which removes old receipts.
        "CREATE INDEX ON stratus_receipts (at)",
        """
        CREATE TABLE stratus_host (id smallint PRIMARY KEY CHECK (id = 1), schema_version integer NOT NULL,
            generation bigint NOT NULL, holder bytea, name text NOT NULL DEFAULT '', pid integer NOT NULL DEFAULT 0)
        """,
        "CREATE TABLE stratus_beats (holder bytea PRIMARY KEY, beat bigint NOT NULL) WITH (fillfactor = 50)",
        """
        CREATE TABLE stratus_contents (name bytea, part integer, data bytea NOT NULL, PRIMARY KEY (name, part))
        """,
        "ALTER TABLE stratus_contents ALTER COLUMN data SET STORAGE EXTERNAL",
        """
        ALTER TABLE stratus_entries
            SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05)
        """,
    ]
}
