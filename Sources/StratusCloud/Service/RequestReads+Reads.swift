// What most requests read first, announced before the first read: the caller's account, the zone's entries in the
// directory, its counters, what the caller has accepted there. See `ZoneReads`.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

/// Announces the reads that requests have in common. Nil on a store that gains nothing from announcements.
struct RequestReads {
    /// Acceptances of one person in one zone that are read at once.
    private static let acceptanceCount = 64

    private let reader: RecordReader

    init?(_ reader: RecordReader) {
        guard reader.store.gainsFromPrefetching else { return nil }
        self.reader = reader
    }

    func announce(_ keys: [[UInt8]]) { reader.store.prefetch(keys) }

    func announce(_ range: KeyRange, limit: Int) { reader.store.prefetch(range, .forward, limit: limit) }

    func account(of caller: Caller) {
        if let id = caller.account { announce([GlobalKeys.account(id)]) }
    }

    /// The zone, and what `user` has accepted in it. Returns the guessed zone for further announcements.
    func zone(_ zone: ResolvedZone, user: UserName?) -> GuessedZone? {
        guard let guess = reader.willRead(zone: zone.id) else { return nil }
        if zone.isShared, let user {
            announce(GlobalKeys.acceptances(of: user, zone: guess.identity), limit: Self.acceptanceCount)
        }
        return guess
    }

    func schema(of types: some Sequence<RecordType>, in container: ContainerName) {
        announce(types.map { GlobalKeys.schema(container, $0) })
    }

    /// Whether a text that a client sent, and that was not checked, may be a part of a key.
    static func mayBeKey(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= LayoutLimits.maximumNameByteCount
    }
}
