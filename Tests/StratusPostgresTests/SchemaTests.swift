// The tables of a store: creating them, alone and beside others, layouts that this version does not write, and
// privileges.

import StratusStore
import StratusTestSupport
import Testing

@testable import StratusPostgres

@Suite(.enabled(if: PostgresTestStore.isServerThere), .timeLimit(.minutes(3))) struct SchemaTests {
    @Test("opening creates the tables once, and a later opening finds the entries")
    func creation() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let first = try place.open()
            try first.transact { try $0.set([1], to: [2]) }
            first.close()
            let second = try place.open()
            defer { second.close() }
            #expect(try second.read { try $0.value(forKey: [1]) } == [2])
            #expect(try PostgresStore.create(url: place.url) == false)
        }
    }

    @Test("two operators who create a store at once create one")
    func creationAtOnce() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let created = Locked(0)
            try TestThreads.run(4) { _ in
                if try PostgresStore.create(url: place.url) { created.withLock { $0 += 1 } }
            }
            #expect(created.value == 1)
        }
    }

    @Test("an opening waits for others who create its tables, longer than for other locks")
    func creationAfterOthers() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let holder = try TestServer.open(place.info)
            defer { holder.close() }
            let lock = "SELECT pg_advisory_xact_lock(\(SetUp.fenceClass + 1), hashtext('\(try place.schema)'))"
            try holder.answers(to: ["BEGIN", lock])
            try TestThreads.run(2) { thread in
                if thread == 0 {
                    #expect(try PostgresStore.create(url: place.url))
                } else {
                    let waiting = """
                        SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))
                        """
                    while try holder.number(waiting) == 0 { TestThreads.yield() }
                    try holder.answers(to: ["SELECT pg_sleep(6)", "COMMIT"])
                }
            }
        }
    }

    /// Makes each creation of the schema `slow` wait for a lock of the test, as long as it takes.
    private static let slowSchema = """
        CREATE FUNCTION wait() RETURNS event_trigger LANGUAGE plpgsql SET lock_timeout = 0 AS $$
            BEGIN IF current_query() LIKE '%slow%' THEN PERFORM pg_advisory_xact_lock(1, 1); END IF; END $$
        """

    @Test("an opening does not wait for those who create another store of the database")
    func creationBesideOthers() async throws {
        try await TestThreads.offPool {
            let server = try OwnServer()
            defer { server.stop() }
            let holder = try TestServer.open(ConnectionInfo(parsing: server.url))
            defer { holder.close() }
            try holder.answers(to: [
                Self.slowSchema, "CREATE EVENT TRIGGER slow ON ddl_command_start EXECUTE FUNCTION wait()",
            ])
            try holder.answers(to: ["BEGIN", "SELECT pg_advisory_xact_lock(1, 1)"])
            let waiting = "SELECT count(*) FROM pg_locks WHERE classid = 1 AND objid = 1 AND NOT granted"
            try TestThreads.run(2) { thread in
                if thread == 0 {
                    #expect(try PostgresStore.create(url: "\(server.url)?stratus_schema=slow"))
                } else {
                    while try holder.number(waiting) == 0 { TestThreads.yield() }
                    #expect(try PostgresStore.create(url: "\(server.url)?stratus_schema=other"))
                    try holder.answers(to: ["COMMIT"])
                }
            }
        }
    }

    @Test("a reader creates nothing, and an opening that may not create says what does")
    func absent() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let reading = #expect(throws: StoreError.self) { try place.open { $0.use = .reading } }
            #expect(reading?.code == .notAStore)
            let refused = #expect(throws: StoreError.self) { try place.open { $0.createsTables = false } }
            #expect(refused?.code == .notAStore)
            #expect(refused?.message.contains("stratus init") == true)
        }
    }

    @Test("tables of a newer version, and tables that are not complete, are refused")
    func otherTables() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            try place.open().close()
            try place.run("UPDATE stratus_host SET schema_version = \(Schema.version + 1)")
            let newer = #expect(throws: StoreError.self) { try place.open() }
            #expect(newer?.code == .newerFormat)
            try place.run("DROP TABLE stratus_receipts")
            let incomplete = #expect(throws: StoreError.self) { try place.open() }
            #expect(incomplete?.code == .notAStore)
            #expect(incomplete?.fields["table"] == "stratus_receipts")
        }
    }

    @Test("an open store stops when a newer version has changed the tables")
    func changedTables() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let store = try place.open()
            defer { store.close() }
            try store.transact { try $0.set([1], to: [2]) }
            try place.run("UPDATE stratus_host SET schema_version = \(Schema.version + 1)")
            let write = #expect(throws: StoreError.self) { try store.transact { try $0.set([1], to: [3]) } }
            #expect(write?.code == .newerFormat)
            let read = #expect(throws: StoreError.self) { try store.read { try $0.value(forKey: [1]) } }
            #expect(read?.code == .newerFormat)
        }
    }

    /// The table of entries as layout 1 had it.
    private static let formerTables = [
        "ALTER TABLE stratus_entries RESET (fillfactor)",
        "ALTER TABLE stratus_entries ALTER COLUMN v SET NOT NULL",
        "ALTER TABLE stratus_beats DROP COLUMN name, DROP COLUMN pid, DROP COLUMN at",
        "UPDATE stratus_host SET schema_version = 1",
    ]

    @Test("tables of the former layout are changed by the first host whose role owns them, and keep their entries")
    func formerLayout() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let first = try place.open()
            try first.transact { try $0.set([1], to: [2]) }
            first.close()
            for statement in Self.formerTables { try place.run(statement) }
            let reader = try place.open { $0.use = .reading }
            #expect(try reader.read { try $0.value(forKey: [1]) } == [2])
            reader.close()
            #expect(try place.text("SELECT schema_version::text FROM stratus_host") == "1")

            let role = "r_\(UInt64.random(in: 0 ... .max))"
            try place.run("CREATE ROLE \(role) LOGIN PASSWORD 'secret'")
            defer { try? place.run("DROP OWNED BY \(role); DROP ROLE \(role)", isScript: true) }
            let names = Schema.tableNames.joined(separator: ", ")
            try place.run("GRANT USAGE ON SCHEMA \(try place.schema) TO \(role)")
            try place.run("GRANT SELECT, INSERT, UPDATE, DELETE ON \(names) TO \(role)")
            let address = try place.url(as: role, "secret")
            let refused = #expect(throws: StoreError.self) {
                try PostgresStore.open(url: address, options: place.options())
            }
            #expect(refused?.code == .olderFormat)
            #expect(refused?.message.contains("--host-role") == true)

            let store = try place.open()
            defer { store.close() }
            #expect(try place.text("SELECT schema_version::text FROM stratus_host") == "\(Schema.version)")
            let new = try PostgresTestStore()
            try new.open().close()
            #expect(try place.text(Self.tableOptions) == new.text(Self.tableOptions))
            try store.transact { writer in
                writer.divide(at: [1], true)
                try writer.set([3], to: [4])
            }
            #expect(try store.read { try $0.values(forKeys: [[1], [3]]) } == [[2], [4]])
        }
    }

    /// What the catalogue says of the table of entries.
    private static let tableOptions = """
        SELECT array(SELECT unnest(reloptions) ORDER BY 1)::text || (SELECT string_agg(attname || attstorage::text || attnotnull::text, ' ' ORDER BY attnum)
            FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0)
            FROM pg_class AS c WHERE oid = 'stratus_entries'::regclass
        """

    @Test("a host that is refused does not change the tables of the one that has the store")
    func formerLayoutInUse() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let host = try place.open()
            defer { host.close() }
            for statement in Self.formerTables { try place.run(statement) }
            let refused = #expect(throws: StoreError.self) { try place.open { $0.leaseWaitSeconds = 0 } }
            #expect(refused?.code == .held)
            // An operator who creates what is there, or grants, changes no tables either.
            #expect(try PostgresStore.create(url: place.url, grantingTo: "pg_monitor") == false)
            #expect(try place.text("SELECT schema_version::text FROM stratus_host") == "1")
            try host.transact { try $0.set([1], to: [2]) }
        }
    }

    @Test("tables of the former layout that somebody reads for long stay as they are, and opening says why")
    func formerLayoutRead() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            try place.open().close()
            for statement in Self.formerTables { try place.run(statement) }
            let reader = try TestServer.open(place.info)
            defer { reader.close() }
            try reader.answers(to: ["BEGIN", "SELECT count(*) FROM stratus_entries"])
            let refused = #expect(throws: StoreError.self) { try place.open { $0.leaseWaitSeconds = 0 } }
            #expect(refused?.code == .unavailable)
            #expect(refused?.message.contains("long reads") == true)
            #expect(try place.text("SELECT schema_version::text FROM stratus_host") == "1")
            try reader.answers(to: ["COMMIT"])
            // The lease was given back.
            try place.open { $0.leaseWaitSeconds = 0 }.close()
            #expect(try place.text("SELECT schema_version::text FROM stratus_host") == "\(Schema.version)")
        }
    }

    @Test("a role that may use no schema of its search path is refused with the remedy")
    func noSchema() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            try place.open().close()
            let role = "r_\(UInt64.random(in: 0 ... .max))"
            try place.run("CREATE ROLE \(role) LOGIN PASSWORD 'secret'")
            defer { try? place.run("DROP ROLE \(role)") }
            try place.run("ALTER ROLE \(role) SET search_path = nowhere")
            let address = try place.url(as: role, "secret").replacing("?stratus_schema=\(try place.schema)", with: "")
            for use in [StoreUse.reading, .hosting] {
                let refused = #expect(throws: StoreError.self) {
                    try PostgresStore.open(url: address, options: place.options { $0.use = use })
                }
                #expect(refused?.code == .notPermitted)
                #expect(refused?.message.contains("stratus_schema") == true)
            }
        }
    }

    @Test("a schema may have the name of a reserved word")
    func reservedName() async throws {
        try await TestThreads.offPool {
            let server = try OwnServer()
            defer { server.stop() }
            #expect(try PostgresStore.create(url: "\(server.url)?stratus_schema=user"))
            #expect(try !PostgresStore.create(url: "\(server.url)?stratus_schema=user"))
        }
    }

    @Test("a role that may not use the schema is refused with the remedy, whether it opens or creates a store")
    func schemaPrivilege() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let role = "r_\(UInt64.random(in: 0 ... .max))"
            try place.open().close()
            try place.run("CREATE ROLE \(role) LOGIN PASSWORD 'secret'")
            defer { try? place.run("DROP ROLE \(role)") }
            let address = try place.url(as: role, "secret")
            for use in [StoreUse.reading, .hosting] {
                let refused = #expect(throws: StoreError.self) {
                    try PostgresStore.open(url: address, options: place.options { $0.use = use })
                }
                #expect(refused?.code == .notPermitted)
                #expect(refused?.fields["schema"] == (try place.schema))
                #expect(refused?.message.contains("--host-role") == true)
            }
            let refused = #expect(throws: StoreError.self) { try PostgresStore.create(url: address) }
            #expect(refused?.code == .notPermitted)
        }
    }

    @Test("a role without privileges is refused with the table and the remedy, and works when they are granted")
    func privileges() async throws {
        try await TestThreads.offPool {
            let place = try PostgresTestStore()
            let role = "r_\(UInt64.random(in: 0 ... .max))"
            try place.open().close()
            try place.run("CREATE ROLE \(role) LOGIN PASSWORD 'secret'")
            defer { try? place.run("DROP OWNED BY \(role); DROP ROLE \(role)", isScript: true) }
            let address = try place.url(as: role, "secret")
            try place.run("GRANT USAGE ON SCHEMA \(try place.schema) TO \(role)")
            try place.run("GRANT SELECT ON stratus_entries TO \(role)")
            let refused = #expect(throws: StoreError.self) {
                try PostgresStore.open(url: address, options: place.options())
            }
            #expect(refused?.code == .notPermitted)
            #expect(refused?.fields["table"] == "stratus_receipts")
            #expect(refused?.message.contains("--host-role") == true)
            #expect(refused.map { "\($0)".contains("secret") } == false)
            #expect(try PostgresStore.create(url: place.url, grantingTo: role) == false)
            let (store, _) = try PostgresStore.open(url: address, options: place.options())
            defer { store.close() }
            try store.transact { try $0.set([1], to: [2]) }
            #expect(try store.read { try $0.value(forKey: [1]) } == [2])
        }
    }
}
