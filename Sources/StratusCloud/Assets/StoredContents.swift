// Contents of assets in the store itself, where it has a place for them (`StoreContents`): parts under a name, which is
// the owner, the digest and a number of the upload. No file is beside the store.
//
// Invariants:
//   1. An entry names every content, from before its first part until after its last one is removed: a lease of a
//      request, the ledger's entry, or an entry that says that the content waits to be removed. A transaction that
//      removes the last of the first two writes the third. So no order of events, and no crash, loses track of a
//      content, and only a waiting one is removed.
//   2. No upload has a number that another one of the same content has, so a content that waits is never used again:
//      a request that needs it uploads it under another number.
//   3. A commit gives a content its ledger entry only if it reads a lease. So a request is refused whose lease was
//      removed because it had expired by the store's clock. The lease is removed after the request has ended.
// A process that was paused may write parts after its lease was removed. They have no entry, no commit can use them,
// and a sweep of all names finds them.
//
// Leases are removed together, before the next leases are written and by the collector: a request with an asset costs
// no transaction more at its end. Holds (`AssetHold`) exist in this process only.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import Synchronization

/// The contents in a store, and the leases of this process on them.
final class StoredContents: Sendable {
    /// A lease of a request of this process, on a complete content.
    struct Lease: Hashable, Sendable {
        let id: UUID
        let upload: UUID
    }

    /// A lease that was just written.
    struct Reservation: Sendable {
        let key: AssetKey
        let lease: Lease
        /// Whether the content's parts have to be written.
        let isNew: Bool

        var name: [UInt8] { StoredContents.name(of: key, lease.upload) }
        var leaseKey: [UInt8] { GlobalKeys.upload(owner: key.owner, digest: key.digest, lease: lease.id) }
    }

    private struct HeldLease: Sendable {
        let lease: Lease
        /// How many files of its request have the content.
        var useCount: Int
    }

    private struct State: Sendable {
        /// The leases of running requests. Their contents are complete.
        var leases: [AssetKey: [HeldLease]] = [:]
        /// Uploads that were found damaged: they are not used for other requests.
        var damaged: Set<UUID> = []
        /// The keys of leases whose requests have ended.
        var ended: [[UInt8]] = []
        var waiting: [[UInt8]: Waiting] = [:]
    }

    /// When a content was first seen to wait.
    private struct Waiting: Sendable {
        /// The newest hold at that time.
        let hold: UInt64
        let since: MonotonicTime
    }

    /// Leases, names and contents in one transaction.
    static let batchCount = 256
    /// Parts in one commit.
    static let appendedCount = 16
    /// Parts removed in one commit.
    static let removedCount = 64
    /// How long a request of another process may take from its snapshot until it has copied a content.
    private static let copyingSeconds = 3_600.0
    /// Contents whose holds are remembered. Others may wait longer.
    private static let waitingLimit = 100_000

    let contents: any StoreContents
    let engine: RecordEngine
    let holds: AssetLeases
    private let session: UUID
    private let leaseSeconds: Double
    private let lastNumber = Atomic<UInt64>(0)
    private let state = Locked(State())

    /// `session` is new for every opening.
    init(
        _ contents: any StoreContents, engine: RecordEngine, holds: AssetLeases, session: UUID, leaseSeconds: Double
    ) {
        self.contents = contents
        self.engine = engine
        self.holds = holds
        self.session = session
        self.leaseSeconds = leaseSeconds
    }

    /// How long an upload may take before its leases are extended.
    var renewalSeconds: Double { min(300, leaseSeconds / 4) }

    // MARK: Leases

    /// Writes a lease for each content, and says which contents have to be uploaded.
    func reserve(_ keys: [AssetKey]) throws -> [Reservation] {
        removeEndedLeases()
        var reservations: [Reservation] = []
        for start in stride(from: 0, to: keys.count, by: Self.batchCount) {
            reservations += try reserve(batch: Array(keys[start...].prefix(Self.batchCount)))
        }
        return reservations
    }

    private func reserve(batch keys: [AssetKey]) throws -> [Reservation] {
        let end = try endMilliseconds()
        let complete = state.withLock { state in keys.map { state.leases[$0]?.map(\.lease.upload) ?? [] } }
        let intact = try intactUploads(of: keys)
        while true {
            let drawn = keys.map { key in
                let id = nextNumber()
                return Reservation(key: key, lease: Lease(id: id, upload: id), isNew: true)
            }
            let reserved = try engine.transact { try Self.reserve(drawn, intact, complete, until: end, in: $0) }
            if let reserved { return reserved }
        }
    }

    /// Writes the leases. Returns nil if a number was used before: a generator that repeats itself must not give two
    /// uploads one name.
    private static func reserve(
        _ drawn: [Reservation], _ intact: Set<UUID>, _ complete: [[UUID]], until end: UInt64,
        in transaction: RecordTransaction
    ) throws -> [Reservation]? {
        let found = try transaction.store.values(forKeys: drawn.flatMap { [$0.key.ledgerKey, $0.leaseKey, $0.name] })
        var reserved: [Reservation] = []
        for (index, new) in drawn.enumerated() {
            var upload = try found[3 * index].flatMap { try AssetEntry(decoding: $0.span).upload }
            guard upload != new.lease.upload, found[3 * index + 1] == nil, found[3 * index + 2] == nil else {
                return nil
            }
            if upload.map({ !intact.contains($0) }) == true { upload = nil }
            for leased in complete[index] where upload == nil {
                if try isLeased(new.key, leased, in: transaction) { upload = leased }
            }
            let lease = Lease(id: new.lease.id, upload: upload ?? new.lease.upload)
            try transaction.set(new.leaseKey, to: UploadEntry(upload: lease.upload, endMilliseconds: end).encoded())
            reserved.append(Reservation(key: new.key, lease: lease, isNew: upload == nil))
        }
        return reserved
    }

    /// The uploads that the ledger names and that are there: saving a file again repairs a lost content.
    private func intactUploads(of keys: [AssetKey]) throws -> Set<UUID> {
        let found = try engine.read { try $0.store.values(forKeys: keys.map(\.ledgerKey)) }
        var intact: Set<UUID> = []
        for (key, value) in zip(keys, found) {
            guard let entry = try value.map({ try AssetEntry(decoding: $0.span) }), let upload = entry.upload,
                !state.withLock({ $0.damaged.contains(upload) })
            else { continue }
            if try hasLength(entry.byteCount, Self.name(of: key, upload)) { intact.insert(upload) }
        }
        return intact
    }

    /// Notes that a content differs from its digest.
    func noteDamaged(_ name: [UInt8]) {
        guard let upload = try? GlobalKeys.readContentKey(name.span).upload else { return }
        state.withLock { _ = $0.damaged.insert(upload) }
    }

    /// Extends leases. Returns false if one of them is gone, because it had expired.
    func renew(_ reservations: [Reservation]) throws -> Bool {
        let end = try endMilliseconds()
        return try engine.transact { transaction in
            let found = try transaction.store.values(forKeys: reservations.map(\.leaseKey))
            guard !found.contains(nil) else { return false }
            for reservation in reservations {
                let entry = UploadEntry(upload: reservation.lease.upload, endMilliseconds: end)
                try transaction.set(reservation.leaseKey, to: entry.encoded())
            }
            return true
        }
    }

    /// Notes that a content is complete, so that its request's commits may use the lease until it was released as often
    /// as files have the content.
    func noteComplete(_ reservation: Reservation, useCount: Int) {
        state.withLock {
            $0.leases[reservation.key, default: []].append(HeldLease(lease: reservation.lease, useCount: useCount))
        }
    }

    /// Ends the lease of an upload that has failed. It is removed later.
    func abandon(_ reservation: Reservation) {
        state.withLock { $0.ended.append(reservation.leaseKey) }
    }

    /// Ends one use of a lease on a content. After the last one the lease is removed later.
    func release(_ key: AssetKey) {
        state.withLock { state in
            guard var leases = state.leases[key], var last = leases.popLast() else { return }
            last.useCount -= 1
            if last.useCount > 0 {
                leases.append(last)
            } else {
                state.ended.append(GlobalKeys.upload(owner: key.owner, digest: key.digest, lease: last.lease.id))
            }
            state.leases[key] = leases.isEmpty ? nil : leases
        }
    }

    /// The upload of a content that a request of this process has leased; nil if its lease is gone.
    func leasedUpload(of key: AssetKey, in transaction: RecordTransaction) throws -> UUID? {
        let leases = state.withLock { $0.leases[key] ?? [] }
        for held in leases {
            let leaseKey = GlobalKeys.upload(owner: key.owner, digest: key.digest, lease: held.lease.id)
            let entry = try transaction.store.withValue(forKey: leaseKey) { try UploadEntry(decoding: $0) }
            if let entry, !state.withLock({ $0.damaged.contains(entry.upload) }) { return entry.upload }
        }
        return nil
    }

    /// Lets a content wait to be removed, unless a lease names it. The caller has removed the ledger's entry.
    static func noteUnused(_ key: AssetKey, _ upload: UUID, in transaction: RecordTransaction) throws {
        guard try !isLeased(key, upload, in: transaction) else { return }
        try transaction.set(name(of: key, upload), to: EmptyEntry().encoded())
    }

    private static func isLeased(_ key: AssetKey, _ upload: UUID, in transaction: RecordTransaction) throws -> Bool {
        var isLeased = false
        try transaction.store.scan(GlobalKeys.uploads(of: key.owner, digest: key.digest)) { _, value in
            isLeased = try UploadEntry(decoding: value).upload == upload
            return isLeased ? .stop : .next
        }
        return isLeased
    }

    /// Removes the leases of requests that have ended. After a failure they are removed later.
    func removeEndedLeases() {
        while true {
            let keys = state.withLock { state in
                let keys = Array(state.ended.prefix(Self.batchCount))
                state.ended.removeFirst(keys.count)
                return keys
            }
            guard !keys.isEmpty else { return }
            do { try remove(leases: keys) { _ in true } } catch {
                return state.withLock { $0.ended += keys }
            }
        }
    }

    /// Removes the leases whose requests have not ended them in time.
    func removeExpiredLeases() throws {
        let now = try contents.milliseconds()
        var range = GlobalKeys.keyspace(.uploads)
        while true {
            var (keys, last): ([[UInt8]], [UInt8]?) = ([], nil)
            try engine.read { reader in
                try reader.store.scan(range, .forward, limit: Self.batchCount) { key, value in
                    last = [UInt8](copying: key)
                    if try UploadEntry(decoding: value).endMilliseconds < now { keys.append([UInt8](copying: key)) }
                    return .next
                }
            }
            if !keys.isEmpty { try remove(leases: keys) { $0.endMilliseconds < now } }
            guard let last else { return }
            range = GlobalKeys.uploads(after: last)
        }
    }

    private func remove(leases keys: [[UInt8]], where isOver: (UploadEntry) -> Bool) throws {
        try engine.transact { transaction in
            let places = try keys.map { try GlobalKeys.readUploadKey($0.span) }
            let assets = places.map { AssetKey(owner: $0.owner, digest: $0.digest) }
            let found = try transaction.store.values(forKeys: zip(keys, assets).flatMap { [$0, $1.ledgerKey] })
            for (index, key) in keys.enumerated() {
                guard let entry = try found[2 * index].map({ try UploadEntry(decoding: $0.span) }), isOver(entry)
                else { continue }
                try transaction.delete(key)
                let held = try found[2 * index + 1].flatMap { try AssetEntry(decoding: $0.span).upload }
                if held != entry.upload { try Self.noteUnused(assets[index], entry.upload, in: transaction) }
            }
        }
    }

    private func endMilliseconds() throws -> UInt64 {
        let now = try contents.milliseconds()
        return leaseSeconds > 0 ? now + UInt64(leaseSeconds * 1_000) : now - min(now, UInt64(-leaseSeconds * 1_000))
    }

    /// The session with a number that it has not used.
    private func nextNumber() -> UUID {
        let number = lastNumber.add(1, ordering: .relaxed).newValue
        var bytes = session.uuid
        bytes.10 ^= UInt8(truncatingIfNeeded: number >> 40)
        bytes.11 ^= UInt8(truncatingIfNeeded: number >> 32)
        bytes.12 ^= UInt8(truncatingIfNeeded: number >> 24)
        bytes.13 ^= UInt8(truncatingIfNeeded: number >> 16)
        bytes.14 ^= UInt8(truncatingIfNeeded: number >> 8)
        bytes.15 ^= UInt8(truncatingIfNeeded: number)
        return UUID(uuid: bytes)
    }

    // MARK: Reading

    /// The names under which a content may be stored, the best first. One that waits to be removed exists as long as a
    /// hold keeps it.
    func names(of key: AssetKey) throws -> [[UInt8]] {
        try engine.read { reader in
            var uploads = [try AssetLedger.entry(of: key, in: reader)?.upload].compactMap { $0 }
            try reader.store.scan(GlobalKeys.uploads(of: key.owner, digest: key.digest)) { _, value in
                uploads.append(try UploadEntry(decoding: value).upload)
                return .next
            }
            try reader.store.scan(GlobalKeys.contents(of: key.owner, digest: key.digest)) { key, _ in
                uploads.append(try GlobalKeys.readContentKey(key).upload)
                return .next
            }
            return uploads.map { Self.name(of: key, $0) }
        }
    }

    /// Reads a content part by part, and returns its digest; nil if it has no parts.
    func read(_ name: [UInt8], _ visit: (_ part: [UInt8]) throws -> Void) throws -> [UInt8]? {
        var digest = ContentDigest()
        var index = 0
        while let part = try contents.part(index, of: name) {
            digest.add(part)
            try visit(part)
            index += 1
        }
        return index > 0 ? digest.finish() : nil
    }

    /// Reads one of the uploads of a content: the given one, if it is there. Returns its digest; nil if none is there.
    func read(_ key: AssetKey, _ upload: UUID?, _ visit: (_ part: [UInt8]) throws -> Void) throws -> [UInt8]? {
        let first = upload.map { Self.name(of: key, $0) }
        if let first, let digest = try read(first, visit) { return digest }
        for name in try names(of: key) where name != first {
            if let digest = try read(name, visit) { return digest }
        }
        return nil
    }

    /// Removes all parts of a content.
    func removeParts(of name: [UInt8]) throws {
        while try !contents.remove(name, limit: Self.removedCount) {}
    }

    /// The name of an upload's parts.
    static func name(of key: AssetKey, _ upload: UUID) -> [UInt8] {
        GlobalKeys.content(ContentKeyParts(owner: key.owner, digest: key.digest, upload: upload))
    }

    /// Whether a content has this length, by the parts at its ends.
    func hasLength(_ byteCount: Int64, _ name: [UInt8]) throws -> Bool {
        let last = max(0, (byteCount - 1) / Int64(contents.partByteCount))
        guard try last == 0 || contents.part(0, of: name) != nil,
            let part = try contents.part(Int(last), of: name)
        else { return false }
        return try last * Int64(contents.partByteCount) + Int64(part.count) == byteCount
            && contents.part(Int(last) + 1, of: name) == nil
    }

    // MARK: Removing

    /// Removes the contents in a range that wait and that no hold keeps. Returns how many. Holds are this process's:
    /// while others have the store open, a content waits longer than a request takes to copy it.
    func removeWaiting(in range: KeyRange = GlobalKeys.keyspace(.collecting)) throws -> Int {
        var (rest, count) = (range, 0)
        while true {
            let names = try engine.read { try $0.store.keys(in: rest, limit: Self.batchCount) }
            guard let last = names.last else { return count }
            // After the names were read: a process shows itself before its first request.
            let isOpenElsewhere = try engine.isOpenElsewhere()
            let now = engine.options.monotonicNow()
            let hold = holds.newestHold
            let removable = state.withLock { state in
                names.filter { name in
                    let seen = state.waiting[name] ?? Waiting(hold: hold, since: now)
                    let mayBeCopied = isOpenElsewhere && seen.since + Self.copyingSeconds > now
                    guard mayBeCopied || holds.isHeld(since: min(seen.hold, hold)) else {
                        state.waiting[name] = nil
                        return true
                    }
                    if state.waiting.count < Self.waitingLimit { state.waiting[name] = seen }
                    return false
                }
            }
            for name in removable { try removeParts(of: name) }
            if !removable.isEmpty {
                try engine.transact { transaction in
                    for name in removable { try transaction.delete(name) }
                }
            }
            count += removable.count
            rest.lower = GlobalKeys.contents(after: last).lower
        }
    }

    /// Lets those of the contents wait to be removed that no entry names.
    func noteUnnamed(_ uploads: [ContentKeyParts]) throws {
        let suspects = try engine.read { try Self.unnamed(uploads, in: $0) }
        guard !suspects.isEmpty else { return }
        try engine.transact { transaction in
            for upload in try Self.unnamed(suspects, in: transaction) {
                let key = AssetKey(owner: upload.owner, digest: upload.digest)
                try Self.noteUnused(key, upload.upload, in: transaction)
            }
        }
    }

    /// Those that neither the ledger names nor wait. A lease may name them.
    private static func unnamed(_ uploads: [ContentKeyParts], in reader: RecordReader) throws -> [ContentKeyParts] {
        let keys = uploads.flatMap { [$0.assetKey.ledgerKey, GlobalKeys.content($0)] }
        let found = try reader.store.values(forKeys: keys)
        return try uploads.indices.filter { index in
            let held = try found[2 * index].flatMap { try AssetEntry(decoding: $0.span).upload }
            return held != uploads[index].upload && found[2 * index + 1] == nil
        }.map { uploads[$0] }
    }

    /// Removes the leases on an owner's contents.
    func removeLeases(of owner: UserName) throws {
        while true {
            let keys = try engine.read {
                try $0.store.keys(in: GlobalKeys.uploads(of: owner), limit: Self.batchCount)
            }
            guard !keys.isEmpty else { return }
            try remove(leases: keys) { _ in true }
        }
    }

    /// Visits the names in a range, page by page, also those that are not contents of assets.
    func visitNames(
        in range: KeyRange, after first: [UInt8]? = nil, _ visit: (_ page: [[UInt8]]) throws -> ScanStep
    ) throws {
        var last = first
        while true {
            let page = try contents.names(after: last ?? range.lower, limit: Self.batchCount)
            let names = page.filter { range.contains($0) }
            if !names.isEmpty, try visit(names) == .stop { return }
            guard let end = page.last, range.contains(end) else { return }
            last = end
        }
    }
}

extension AssetKey {
    var ledgerKey: [UInt8] { GlobalKeys.asset(owner: owner, digest: digest) }
}

extension ContentKeyParts {
    var assetKey: AssetKey { AssetKey(owner: owner, digest: digest) }
}
