// A store on the server that `scripts/postgres run` starts, in a schema of its own.

package import StratusPostgres
internal import Foundation
internal import StratusRecords
package import StratusStore

/// A place on the test server. Its contents outlive the stores that are opened on it, and are removed with it.
package final class PostgresTestStore: Sendable {
    /// The address of the server; nil where there is none, which one line says.
    package static let serverAddress: String? = {
        let address = ProcessInfo.processInfo.environment["STRATUS_POSTGRES_URL"]
        if address == nil { print("No PostgreSQL (scripts/postgres run): connections and stores were not tested.") }
        return address
    }()

    /// Whether there is a server. Tests are enabled by it.
    package static var isServerThere: Bool { serverAddress != nil }

    /// Whether tests run that take longer than `make test` has for PostgreSQL: those of `make postgres`.
    package static let runsLongTests = ProcessInfo.processInfo.environment["STRATUS_POSTGRES_LONG"] == "1"

    /// How many histories of each kind run on the server: `STRATUS_HISTORIES` in `make postgres`, one in `make test`.
    package static let historyCount: UInt64 =
        runsLongTests
        ? max(1, ProcessInfo.processInfo.environment["STRATUS_HISTORIES"].flatMap { UInt64($0) } ?? 20) : 1

    /// The address of the place.
    package let url: String
    private let reusesTables: Bool
    private let isRemoved = Locked(false)
    private let configure: @Sendable (inout PostgresOptions) -> Void

    /// Schemas with empty tables: creating and dropping them takes the server longer than most tests.
    private static let emptySchemas = Locked<[String]>([])

    /// A place that is empty. Its stores have few connections, because tests run side by side. Changes of the announced
    /// ranges wake watchers at its other stores. With `reusesTables` the tables may be there already, and the test must
    /// not change them except by its stores.
    package init(
        reusesTables: Bool = false, announcing ranges: [KeyRange] = [],
        configure: @escaping @Sendable (inout PostgresOptions) -> Void = { _ in }
    ) throws {
        guard let address = Self.serverAddress else {
            throw TestTimeout(description: "no server: enable the test by PostgresTestStore.isServerThere")
        }
        let empty = reusesTables ? Self.emptySchemas.withLock { $0.popLast() } : nil
        url = empty ?? "\(address)?stratus_schema=t_\(UInt64.random(in: 0 ... .max))"
        self.reusesTables = reusesTables
        self.configure = { options in
            options.announcedRanges = ranges
            configure(&options)
        }
    }

    deinit {
        remove()
    }

    /// Opens the store of the place. The first call creates it. With `checksFormat` every transaction reads the format,
    /// as in a host.
    package func open(
        checksFormat: Bool = false, _ more: (inout PostgresOptions) -> Void = { _ in }
    ) throws -> PostgresStore {
        let check = checksFormat ? FormatCheck(key: StoreFormat.key, verify: StoreFormat.verify) : nil
        return try PostgresStore.open(url: url, options: options(more), check: check).store
    }

    /// Opens the store of the place for one host.
    package func openAlone(waiting seconds: Double) throws -> PostgresStore {
        try open { options in
            options.use = .alone
            options.leaseWaitSeconds = seconds
        }
    }

    /// The options of its stores.
    package func options(_ more: (inout PostgresOptions) -> Void = { _ in }) -> PostgresOptions {
        var options = PostgresOptions { .random(in: 0 ... .max) }
        options.pool.connectionCount = 4
        options.pool.nestedCount = 4
        configure(&options)
        more(&options)
        return options
    }

    /// Removes the contents. The place is of no use afterwards.
    package func remove() {
        let wasRemoved = isRemoved.withLock { isRemoved in
            defer { isRemoved = true }
            return isRemoved
        }
        guard !wasRemoved else { return }
        if reusesTables, (try? PostgresTestHooks.emptyTables(of: url)) != nil {
            Self.emptySchemas.withLock { $0.append(url) }
        } else {
            try? PostgresTestHooks.removeSchema(of: url)
        }
    }
}
