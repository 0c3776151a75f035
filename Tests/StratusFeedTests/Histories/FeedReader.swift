// A reader: a token, and the changes until then.

import Foundation
import StratusKit

/// A reader's replica and position.
struct FeedReader {
    let user: Int
    let place: FeedPlace
    var token: CKServerChangeToken?
    /// The received changes, by name.
    var replica: [String: ToldRecord] = [:]
    /// The moment whose state the replica had last, or at which the first page was read: nothing that was gone before
    /// may be reported. Nil before the first page.
    var since: Int?
    /// The time of that moment. A reader in the middle of its pages needs the history since then.
    var sinceDate: Date?
    /// The birth of the zone that is read.
    var birth: Int?
    /// For zones of a database, the moment at which each was last reported.
    var told: [String: Int] = [:]
    /// The moment at which no more was coming.
    var endMoment: Int?
    var isAtEnd = false
    /// The moment of the last page.
    var readMoment = 0

    mutating func forget() { self = FeedReader(user: user, place: place) }
}
