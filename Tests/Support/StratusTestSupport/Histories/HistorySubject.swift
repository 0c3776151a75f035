// The subject of a history: a kind of store, and the set-up of its engine.

package import Foundation
package import StratusLevelDB
import StratusModel
import StratusPostgres
package import StratusStore

/// A place whose contents outlive the store on it.
package protocol HistoryPlace: AnyObject {
    /// Opens the store; an earlier one was closed.
    func open() throws -> any OrderedStore
    /// Lets the open store reorganise its files.
    func compact() throws
    /// Removes everything. No store is open.
    func remove()
}

/// A store and an engine's set-up, by name.
package struct HistorySubject: Sendable, CustomStringConvertible {
    package var description: String
    package var ancestorCacheByteCount: Int
    package var makePlace: @Sendable () throws -> any HistoryPlace

    package init(
        _ description: String, ancestorCacheByteCount: Int, makePlace: @escaping @Sendable () throws -> any HistoryPlace
    ) {
        self.description = description
        self.ancestorCacheByteCount = ancestorCacheByteCount
        self.makePlace = makePlace
    }

    private static let cacheSizes = [("cache on", 4 << 20), ("cache off", 0), ("tiny cache", 5_000)]

    /// In memory, with the cache on, tiny and off, bodies run once and twice.
    package static let inMemory: [HistorySubject] = cacheSizes.flatMap { cacheName, byteCount in
        [false, true].map { isTwice in
            HistorySubject(
                "memory, \(cacheName)\(isTwice ? ", bodies twice" : "")", ancestorCacheByteCount: byteCount
            ) { MemoryHistoryPlace(runsBodiesTwice: isTwice) }
        }
    }

    /// On LevelDB, with the same caches. Histories have no power cuts, so commits are not synced.
    package static let onLevelDB: [HistorySubject] = cacheSizes.flatMap { cacheName, byteCount in
        [false, true].map { isTwice in
            HistorySubject(
                "LevelDB, \(cacheName)\(isTwice ? ", bodies twice" : "")", ancestorCacheByteCount: byteCount
            ) {
                var options = LevelDBOptions()
                options.syncsCommits = false
                options.testHooks.runsBodiesTwice = isTwice
                // Half of the stores are opened again as after a crash.
                options.testHooks.leavesLog = isTwice
                // Little memory, so that tables and compactions occur within one history.
                options.writeBufferByteCount = 64 << 10
                options.blockCacheByteCount = 64 << 10
                options.keptByteCount = 64 << 10
                return try LevelDBHistoryPlace(options)
            }
        }
    }

    /// At the other end of a wire, with and without a cache that guesses.
    package static let overWire: [HistorySubject] = cacheSizes.map { cacheName, byteCount in
        HistorySubject("wire, \(cacheName)", ancestorCacheByteCount: byteCount) { TripHistoryPlace() }
    }

    /// On a PostgreSQL server, with and without a cache that guesses, bodies run once and twice.
    package static let onPostgres: [HistorySubject] = cacheSizes.flatMap { cacheName, byteCount in
        [false, true].map { isTwice in
            HistorySubject(
                "PostgreSQL, \(cacheName)\(isTwice ? ", bodies twice" : "")", ancestorCacheByteCount: byteCount
            ) { try PostgresHistoryPlace(runsBodiesTwice: isTwice) }
        }
    }

    /// The same through a network that is cut before, during and after every seventh commit.
    package static let onCutPostgres: [HistorySubject] = cacheSizes.map { cacheName, byteCount in
        HistorySubject("PostgreSQL, cut, \(cacheName)", ancestorCacheByteCount: byteCount) {
            try PostgresHistoryPlace(cutting: [.cutBefore, .cutAfterForwarding, .cutAfterAnswer, .doubled], every: 7)
        }
    }
}

extension HistorySubject {
    /// The subjects for the history of a seed: one in memory and one on LevelDB, or one of a kind that is chosen.
    /// The set-up changes with each round of shapes, so that every shape runs with all of them.
    package static func subjects(seed: UInt64) -> [HistorySubject] {
        let round = Int(seed) / HistoryShape.count
        let kinds =
            switch TestStores.chosen {
            case nil: [inMemory, onLevelDB]
            case .memory: [inMemory]
            case .leveldb: [onLevelDB]
            case .wire, .hosts: [overWire]
            case .postgres, .postgresHosts: [onPostgres]
            }
        return kinds.map { $0[round % $0.count] }
    }
}

extension TestStores {
    /// A place on the chosen kind of store, or the suite's own.
    package static func makePlace(otherwise own: () throws -> any HistoryPlace) throws -> any HistoryPlace {
        switch chosen {
        case nil: try own()
        case .memory: MemoryHistoryPlace()
        case .leveldb: try LevelDBHistoryPlace()
        case .wire, .hosts: TripHistoryPlace()
        case .postgres, .postgresHosts: try PostgresHistoryPlace()
        }
    }
}

/// A store in memory whose contents outlive it.
package final class MemoryHistoryPlace: HistoryPlace {
    private let runsBodiesTwice: Bool
    private var newest: MemoryStore?

    package init(runsBodiesTwice: Bool = false) {
        self.runsBodiesTwice = runsBodiesTwice
    }

    package func open() -> any OrderedStore {
        let store = newest?.reopened() ?? MemoryStore(runsBodiesTwice: runsBodiesTwice)
        newest = store
        return store
    }

    package func compact() {}

    package func remove() { newest = nil }
}

/// A store at the other end of a wire whose contents outlive it.
package final class TripHistoryPlace: HistoryPlace {
    private var newest: MemoryStore?
    private var stores: [TripStore] = []

    package init() {}

    package func open() -> any OrderedStore {
        let memory = newest?.reopened() ?? MemoryStore()
        newest = memory
        let store = TripStore(memory)
        stores.append(store)
        return store
    }

    package func compact() {}

    package func remove() {
        precondition(stores.allSatisfy { $0.inserts.refused == 0 }, "An entry that was there was called new.")
        (newest, stores) = (nil, [])
    }
}

/// A schema of its own on the test server.
package final class PostgresHistoryPlace: HistoryPlace {
    private let place: PostgresTestStore
    private let proxy: WireProxy?

    package init(runsBodiesTwice: Bool = false) throws {
        place = try PostgresTestStore(reusesTables: true) { $0.wire.runsBodiesTwice = runsBodiesTwice }
        proxy = nil
    }

    /// Behind a proxy that does this to commits.
    package init(cutting faults: [WireFault], every interval: Int) throws {
        place = try PostgresTestStore(reusesTables: true)
        let proxy = try WireProxy(place.url)
        proxy.plan(each: faults, every: interval)
        self.proxy = proxy
    }

    package func open() throws -> any OrderedStore {
        guard let proxy else { return try place.open() }
        return try PostgresStore.open(url: proxy.url, options: place.options()).store
    }

    package func compact() {}

    package func remove() {
        proxy?.stop()
        place.remove()
    }
}

/// A directory of its own for one store.
package final class LevelDBHistoryPlace: HistoryPlace {
    package let directory: URL
    private let options: LevelDBOptions
    private var newest: LevelDBStore?

    /// In a directory that is created by the first opening: the one given, or one of its own.
    package init(_ options: LevelDBOptions = .init(), at given: URL? = nil) throws {
        self.options = options
        var generator = SystemRandomNumberGenerator()
        directory =
            given
            ?? FileManager.default.temporaryDirectory
            .appending(path: "stratus-\(UUID.drawn(from: &generator).uuidString)")
    }

    package func open() throws -> any OrderedStore {
        let store = try LevelDBStore.open(at: directory.path, options: options)
        newest = store
        return store
    }

    package func compact() throws {
        try newest?.compact(KeyRange(from: [], upTo: [UInt8](repeating: 0xFF, count: 32)))
    }

    package func remove() {
        newest = nil
        try? FileManager.default.removeItem(at: directory)
    }
}

/// A place whose stores are wrapped when they are opened.
package final class WrappingHistoryPlace: HistoryPlace {
    private let place: any HistoryPlace
    private let wrap: (any OrderedStore) -> any OrderedStore

    package init(_ place: any HistoryPlace, _ wrap: @escaping (any OrderedStore) -> any OrderedStore) {
        self.place = place
        self.wrap = wrap
    }

    package func open() throws -> any OrderedStore { wrap(try place.open()) }

    package func compact() throws { try place.compact() }

    package func remove() { place.remove() }
}
