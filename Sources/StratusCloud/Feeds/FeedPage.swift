// One page of a zone's feed while it is made. It is bounded in what it holds and in the work that is done for it.

import StratusModel
import StratusRecords

/// How large a page may be.
struct FeedLimits: Sendable {
    /// Records and deletions.
    var count: Int
    /// Bytes of the records' contents; the record that goes over it is still in the page.
    var byteCount: Int
    /// Records looked at, told or not.
    var lookCount: Int

    /// Limits for what a client asked for; 0 lets the server decide (L-14).
    init(asked: Int, _ options: CloudOptions) {
        count = asked > 0 ? min(asked, options.feedPageLimit) : min(options.feedPageCount, options.feedPageLimit)
        count = max(count, 1)
        byteCount = options.feedPageByteCount
        lookCount = max(options.feedLookCount, 1)
    }
}

struct FeedPage {
    private let limits: FeedLimits
    private let zone: ZoneAddress
    private(set) var changed: [ClientRecord] = []
    private(set) var deleted: [RecordDeletion] = []
    private var byteCount = 0
    private var lookCount = 0
    var isMoreComing = false

    init(_ limits: FeedLimits, of zone: ZoneAddress) {
        self.limits = limits
        self.zone = zone
    }

    /// Whether nothing more is to be looked at for this page.
    var isFull: Bool {
        changed.count + deleted.count >= limits.count || byteCount >= limits.byteCount
            || lookCount >= limits.lookCount
    }

    mutating func look() { lookCount += 1 }

    mutating func add(_ record: ClientRecord, byteCount count: Int64) {
        changed.append(record)
        byteCount += Int(clamping: count)
    }

    mutating func add(deletionOf name: RecordName, _ type: RecordType) {
        let address = RecordAddress(recordName: name.text, zone: zone)
        deleted.append(RecordDeletion(address: address, type: type.text))
    }
}
