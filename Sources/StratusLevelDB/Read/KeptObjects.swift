// A cache of objects that readers decode from values, exact for every reader's snapshot.
//
// The rule is that of `PublishedCache`: an entry has the version since which it is valid. A reader gets it only if its
// snapshot is not older, and may add one only if nothing newer has been published. When a group is published, the
// objects of the keys it wrote are removed before any reader can get the new version. Every write goes through the
// lane, so no object can be out of date. A transaction uses and offers objects only of keys whose writes are published.
//
// A value that is read once is not cached: an offer is accepted the second time. There are two generations. When the
// young one has used half of the memory, it becomes the old one, and the old entries that were not read meanwhile are
// dropped.
//
// Entries are found by a hash of 64 bits, and their keys are compared. A write removes entries by the hash alone.

internal import StratusStore

/// Objects by the keys of the values they were decoded from.
final class KeptObjects: Sendable {
    /// A power of two, 64 at most. Each shelf has its own lock, so that readers of different keys rarely wait for each
    /// other.
    private static let shelfCount = 16

    private let shelves: [Shelf]
    private let isOff: Bool

    init(byteCount: Int) {
        isOff = byteCount <= 0
        shelves = (0..<Self.shelfCount).map { _ in Shelf(byteCount: byteCount / Self.shelfCount) }
    }

    /// The object, if a snapshot of this version sees the value that it was decoded from.
    func object(forKey key: [UInt8], at version: StoreVersion) -> (any AnyObject & Sendable)? {
        guard !isOff else { return nil }
        let hash = unsafe key.withEngineBytes { unsafe $0.hash() }
        return shelf(hash).object(key, hash, at: version)
    }

    /// Offers an object decoded from a value in a snapshot of this version. `make` is called only if the offer is
    /// accepted.
    func keep(
        forKey key: [UInt8], byteCount: Int, at version: StoreVersion, _ make: () -> any AnyObject & Sendable
    ) {
        guard !isOff else { return }
        let hash = unsafe key.withEngineBytes { unsafe $0.hash() }
        shelf(hash).keep(key, hash, byteCount: byteCount, at: version, make)
    }

    /// Removes the objects of the keys that `written` names, before the version that wrote them is published.
    func publish(version: StoreVersion, _ written: (_ forget: (EngineBytes) -> Void) -> Void) {
        guard !isOff else { return }
        // A bit for each shelf that holds objects.
        var filled: UInt64 = 0
        for (index, shelf) in shelves.enumerated() where shelf.publish(version: version) { filled |= 1 << index }
        guard filled != 0 else { return }
        unsafe written { key in
            let hash = unsafe key.hash()
            if filled & 1 << Self.shelfIndex(hash) != 0 { shelf(hash).forget(hash) }
        }
    }

    private func shelf(_ hash: UInt64) -> Shelf { shelves[Self.shelfIndex(hash)] }

    /// The hash's first bits, as many as number the shelves.
    private static func shelfIndex(_ hash: UInt64) -> Int { Int(hash >> (64 - shelfCount.trailingZeroBitCount)) }
}

/// A part of the cache.
private final class Shelf: @unchecked Sendable {  // because the monitor guards everything that changes
    /// The number of keys that are remembered as offered once.
    private static let offerCount = 4_096
    /// The bytes of an entry without its object.
    private static let entryByteCount = 160

    private struct Entry {
        let key: [UInt8]
        let object: any AnyObject & Sendable
        let validSince: StoreVersion
        let byteCount: Int

        /// Faster than comparing arrays, which goes byte by byte.
        func isOf(_ other: [UInt8]) -> Bool {
            unsafe key.withEngineBytes { key in unsafe other.withEngineBytes { unsafe key.compare($0) == 0 } }
        }
    }

    private let monitor = Monitor()
    private let generationByteCount: Int
    private var young: [UInt64: Entry] = [:]
    private var old: [UInt64: Entry] = [:]
    private var youngByteCount = 0
    private var lastPublished: StoreVersion = 0
    /// Parts of the hashes of offered keys. Other parts are the index. Each place has two, the later one first, so that
    /// two keys of one place that are offered alternately do not replace each other.
    private var offers: [UInt32] = []

    init(byteCount: Int) { generationByteCount = byteCount / 2 }

    func object(_ key: [UInt8], _ hash: UInt64, at version: StoreVersion) -> (any AnyObject & Sendable)? {
        monitor.lock()
        defer { monitor.unlock() }
        if let entry = young[hash] { return entry.validSince <= version && entry.isOf(key) ? entry.object : nil }
        guard let entry = old[hash], entry.validSince <= version, entry.isOf(key) else { return nil }
        old[hash] = nil
        insert(entry, hash)
        return entry.object
    }

    func keep(
        _ key: [UInt8], _ hash: UInt64, byteCount: Int, at version: StoreVersion,
        _ make: () -> any AnyObject & Sendable
    ) {
        monitor.lock()
        defer { monitor.unlock() }
        let byteCount = byteCount + key.count + Self.entryByteCount
        guard lastPublished <= version, byteCount <= generationByteCount, wasOffered(hash) else { return }
        old[hash] = nil
        insert(Entry(key: key, object: make(), validSince: version, byteCount: byteCount), hash)
    }

    /// Refuses older offers from now on. Returns whether there are any objects.
    func publish(version: StoreVersion) -> Bool {
        monitor.lock()
        defer { monitor.unlock() }
        lastPublished = version
        return !young.isEmpty || !old.isEmpty
    }

    func forget(_ hash: UInt64) {
        monitor.lock()
        defer { monitor.unlock() }
        old[hash] = nil
        if let entry = young.removeValue(forKey: hash) { youngByteCount -= entry.byteCount }
    }

    /// Whether the key was offered before, as far as is remembered.
    private func wasOffered(_ hash: UInt64) -> Bool {
        if offers.isEmpty { offers = [UInt32](repeating: 0, count: Self.offerCount) }
        let mark = UInt32(truncatingIfNeeded: hash >> 16)
        let first = Int(hash % UInt64(Self.offerCount / 2)) * 2
        if offers[first] == mark || offers[first + 1] == mark { return true }
        offers[first + 1] = offers[first]
        offers[first] = mark
        return false
    }

    private func insert(_ entry: Entry, _ hash: UInt64) {
        if let replaced = young.updateValue(entry, forKey: hash) { youngByteCount -= replaced.byteCount }
        youngByteCount += entry.byteCount
        guard youngByteCount > generationByteCount else { return }
        old = young
        young = [:]
        youngByteCount = 0
    }
}
