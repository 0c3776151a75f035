// The record layer over one store. All access goes through `read` and `transact`. Opening a store checks its format
// version first.

package import FoundationEssentials
import StratusLayout
package import StratusModel
package import StratusStore
import Synchronization

/// Records, indexes and hierarchy on an ordered store. Knows no users.
///
/// Calls block their thread: do not call it on the cooperative pool.
package final class RecordEngine: Sendable {
    package let store: any OrderedStore
    package let options: RecordEngineOptions
    package let ancestorCache: AncestorCache
    /// The store's incarnation when it was opened. It differs between copies.
    package let openedIncarnation: UUID
    /// Keeps at least half of its room: the listings of twenty times as many zones as a database may have.
    let directoryCache: PublishedCache<ZoneID, ZoneListing>
    /// Whether this engine is rebuilding indexes, of one zone at a time.
    let isRebuilding = Atomic(false)
    /// The zones whose indexes are incomplete: those with a rebuild entry in the newest published version. Not used
    /// where other processes write: there a request reads the entry.
    let rebuilding: Locked<Set<CacheZone>>
    /// Which background work this process does, where several processes write the store.
    let workLeases: WorkLeases

    /// Opens the record layer of a store. An empty store gets its first entries.
    ///
    /// The caller draws a new `incarnation` for each opening. An empty store gets it. Where several processes write the
    /// store, it names this process.
    ///
    /// Throws `StoreError` with `newerFormat` when a newer version of this software wrote the store, with
    /// `olderFormat` when an older one did and the options refuse that, with `notAStore` when it holds something else,
    /// and the store's own errors.
    package init(store: any OrderedStore, options: RecordEngineOptions = .init(), incarnation: UUID) throws {
        self.store = store
        self.options = options
        workLeases = WorkLeases(host: incarnation, options)
        ancestorCache = AncestorCache(capacityByteCount: options.ancestorCacheByteCount, role: store.cacheRole)
        directoryCache = PublishedCache(maximumCount: 40_000, role: store.cacheRole)
        let (opened, rebuilding) = try Self.explainingErrors {
            let opened = try StoreFormat.check(
                store, incarnation: incarnation, olderFormat: options.olderFormat,
                finishesCopy: options.finishesCopy)
            return (opened, try store.read { try RebuildMark.zones(in: $0) })
        }
        openedIncarnation = opened
        self.rebuilding = Locked(rebuilding)
    }

    /// Runs `body` on a snapshot for one page.
    package func read<Result>(_ body: (RecordReader) throws -> Result) throws -> Result { try read(.page, body) }

    /// Runs `body` on a snapshot of everything committed.
    ///
    /// Throws what `body` throws. A `StoreError` gets readable descriptions of its keys.
    package func read<Result>(_ scope: ReadScope, _ body: (RecordReader) throws -> Result) throws -> Result {
        try Self.explainingErrors {
            try store.read(scope) { reader in
                try body(RecordReader(store: reader, transaction: nil, engine: self))
            }
        }
    }

    /// Runs `body` as one transaction and returns when it is durable. The body may run twice.
    ///
    /// Name the database if the transaction changes only one that is known before. All writers of a database change its
    /// header, so a shared store commits them together to avoid conflicts.
    ///
    /// Throws what `body` throws, with nothing written. A `StoreError` gets readable descriptions of its keys.
    @discardableResult
    package func transact<Result>(
        in database: DatabaseID? = nil, _ body: (RecordTransaction) throws -> Result
    ) throws -> Result {
        // A store that is not shared has no conflicts, so it needs no lane.
        guard store.isShared else { return try transact(lane: nil, body) }
        let lane = database.map { StoreLane(name: GlobalKeys.database($0)) }
        guard let round = WorkRound.current(of: self) else { return try transact(lane: lane, body) }
        try round.prepare()
        do {
            let result = try transact(lane: lane) { transaction in
                round.begin(in: transaction)
                let result = try body(transaction)
                try transaction.writing { try round.claim(in: $0) }
                return result
            }
            round.didCommit()
            return result
        } catch {
            round.didFail()
            throw error
        }
    }

    private func transact<Result>(
        lane: StoreLane?, _ body: (RecordTransaction) throws -> Result
    ) throws -> Result {
        try Self.explainingErrors {
            try store.transact(lane: lane) { writer in
                try body(RecordTransaction(writer, engine: self))
            }
        }
    }

    /// Runs `body`. An error about bytes gets a remedy, and its own text becomes the cause; keys get descriptions.
    private static func explainingErrors<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as StoreError where error.damage == .entry {
            throw StoreError(
                .corruption, "A key or value is damaged: verify the store, then restore it from a backup.",
                error.fields, cause: "\(error)")
        } catch let error as StoreError {
            throw error.describingKeys
        }
    }
}

// The version is stored twice: in a key, which every store has, and in the marker file of a store on disk, which is
// read before the store is opened. To open a store on disk, pass `number` to the engine below.

/// The format of stores that this software reads and writes.
package enum StoreFormat {
    /// The layout's number, for the marker of a store on disk.
    package static let number = Int(FormatEntry.currentVersion)

    /// The key of the entry with the store's version, which every store has.
    package static var key: [UInt8] { GlobalKeys.format() }

    /// Throws `newerFormat` if newer software has written the entry with the store's version.
    package static func verify(_ value: [UInt8]?) throws {
        if let value { _ = try FormatEntry(decoding: value.span) }
    }

    /// Checks that the store has the format `supported`, and writes the first entries of an empty one. Returns the
    /// store's incarnation.
    ///
    /// If the options say so, an older store is migrated in one transaction. Entries of all formats from 1 on are read
    /// the same way, so only the number changes.
    ///
    /// Throws `newerFormat`, `olderFormat` and `notAStore`; nothing is written then. An unfinished copy is no store,
    /// except for the copier that finishes it.
    @discardableResult
    package static func check(
        _ store: any OrderedStore, incarnation: UUID, supported: UInt64 = FormatEntry.currentVersion,
        olderFormat: OlderFormat = .refused, finishesCopy: Bool = false
    ) throws -> UUID {
        if let found = try store.read({ try $0.format() }) {
            guard finishesCopy || found.copied == nil else {
                throw StoreError(
                    .notAStore, "This is an unfinished copy: finish it with stratus copy --resume, or remove it.")
            }
            if found.version >= supported || olderFormat != .migrated {
                return try check(found, supported, olderFormat)
            }
        }
        return try store.transact { writer in
            if var entry = try writer.format() {
                let incarnation = try check(entry, supported, olderFormat)
                if entry.version < supported, olderFormat == .migrated {
                    entry.version = supported
                    try writer.set(GlobalKeys.format(), to: entry.encoded())
                }
                return incarnation
            }
            guard try !writer.hasEntries(in: .everything) else {
                throw StoreError(
                    .notAStore,
                    "This is not a Stratus store, because it holds keys but no format entry: choose another directory or database."
                )
            }
            let entry = FormatEntry(version: supported, incarnation: incarnation)
            try writer.set(GlobalKeys.format(), to: entry.encoded())
            try writer.set(GlobalKeys.header(), to: GlobalHeader().encoded())
            return incarnation
        }
    }

    private static func check(
        _ entry: FormatEntry, _ supported: UInt64, _ olderFormat: OlderFormat
    ) throws -> UUID {
        let fields = ["found": "\(entry.version)", "supported": "\(supported)"]
        if entry.version > supported {
            throw StoreError(
                .newerFormat, "A newer version of this software wrote the store: open it with that version.", fields)
        }
        if entry.version < supported, olderFormat == .refused {
            throw StoreError(
                .olderFormat, "The store is of an older format: migrate it first, with 'stratus migrate'.", fields)
        }
        return entry.incarnation
    }
}

/// The format of an open store that other processes may write, for the check of every transaction: a newer program may
/// have changed the store, and an operator may have emptied it or restored a backup.
package final class OpenedFormat: Sendable {
    /// Nil until the entry was read.
    private let incarnation = Locked<UUID?>(nil)

    package init() {}

    /// Checks the entry with the store's version. Nil means an empty store: one that is being created.
    ///
    /// Throws `newerFormat` if newer software has written it, and `unavailable` if it belongs to another store than the
    /// one that was opened.
    package func verify(_ value: [UInt8]?) throws {
        let found = try value.map { try FormatEntry(decoding: $0.span) }?.incarnation
        let opened = incarnation.withLock { incarnation in
            if incarnation == nil { incarnation = found }
            return incarnation
        }
        guard opened == found else {
            throw StoreError(.unavailable, "The store was emptied or replaced while it was open: open it again.")
        }
    }

    /// Lets the store become another one: this process empties it, or opens it again.
    package func forget() { incarnation.withLock { $0 = nil } }
}

extension StoreReader {
    /// The format entry; nil in an empty store.
    func format() throws -> FormatEntry? {
        try withValue(forKey: GlobalKeys.format()) { try FormatEntry(decoding: $0) }
    }
}

// The mark of a zone whose indexes are being rebuilt: an entry in the store, so it survives a crash.
//
// Invariant: between the commit that sets the mark and the one that removes it, the indexes of the zone may lack
// entries and counts, so a request that must be refused could be accepted. The zone takes no requests. The engine keeps
// the marked zones in memory and changes them when a commit is published, so a request needs no read. Where other
// processes write to the store, each request reads the entry.

enum RebuildMark {
    /// The zones that are marked.
    static func zones(in store: any StoreReader) throws -> Set<CacheZone> {
        Set(
            try store.collect(GlobalKeys.keyspace(.rebuilds)) { key, _ in
                let (database, zone) = try GlobalKeys.readZoneKey(key, in: .rebuilds)
                return CacheZone(database: database.rawValue, zone: zone.rawValue)
            })
    }
}

extension RecordReader {
    /// Throws `rebuilding` if the indexes of the zone are incomplete in this snapshot. One read.
    package func requireReliableIndexes(of zone: ZoneReader) throws {
        guard try store.contains(zone.keys.listed(in: .rebuilds)) else { return }
        throw StoreError(.rebuilding, "Indexes are being rebuilt: try again when that is done.")
    }
}

extension RecordTransaction {
    func markRebuilding(_ zone: ZoneReader, identity: UUID) throws {
        try set(zone.keys.listed(in: .rebuilds), to: ZoneIdentityEntry(identity: identity).encoded())
        let (rebuilding, cacheZone) = (engine.rebuilding, zone.cacheZone)
        onPublish { _ in rebuilding.withLock { _ = $0.insert(cacheZone) } }
    }

    func unmarkRebuilding(_ zone: ZoneReader) throws {
        try delete(zone.keys.listed(in: .rebuilds))
        let (rebuilding, cacheZone) = (engine.rebuilding, zone.cacheZone)
        onPublish { _ in rebuilding.withLock { _ = $0.remove(cacheZone) } }
    }

    /// Removes the mark of a zone that is deleted. A mark that is not published yet belongs to a running rebuild.
    func forgetRebuild(of zone: ZoneReader) throws {
        guard try engine.isRebuilding.load(ordering: .acquiring) || isMarked(zone) else { return }
        try unmarkRebuilding(zone)
    }

    /// Throws `rebuilding` if the indexes of the zone are incomplete.
    func requireWholeIndexes(of zone: ZoneReader) throws {
        guard try isMarked(zone) else { return }
        guard engine.isRebuilding.load(ordering: .acquiring) else {
            throw StoreError(
                .rebuilding, "A rebuild of the zone's indexes was interrupted: rebuild them again.",
                ["zone": zone.id.name.text])
        }
        throw StoreError(.rebuilding, "Indexes are being rebuilt: try again when that is done.")
    }

    private func isMarked(_ zone: ZoneReader) throws -> Bool {
        guard engine.directoryCache.role == .answers else { return try store.contains(zone.keys.listed(in: .rebuilds)) }
        let cacheZone = zone.cacheZone
        return engine.rebuilding.withLock { $0.contains(cacheZone) }
    }
}
