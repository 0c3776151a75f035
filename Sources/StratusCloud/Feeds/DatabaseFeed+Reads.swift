// What a page of a database's feed reads, announced: before the first read what the request says, then the changes, and
// at last what tells why zones are gone. The zones that a guest sees are announced by `visibleZones`. See `ZoneReads`.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

extension DatabaseFeed {
    /// Acceptances, and changes, that are read at once.
    private static let pageCount = 1_024

    /// Announces what every page reads first.
    static func announce(
        by caller: Caller, user: UserName, in database: DatabaseSelector, _ reader: RecordReader
    ) {
        guard let common = RequestReads(reader) else { return }
        common.account(of: caller)
        common.announce([GlobalKeys.format(), GlobalKeys.timeline()])
        if database == .shared {
            common.announce(GlobalKeys.acceptances(of: user), limit: pageCount)
        } else {
            common.announce([
                GlobalKeys.database(DatabaseID(container: caller.container, owner: user, scope: .private))
            ])
        }
    }

    /// Announces the counter of a database and its changes.
    func announceChanges(after position: UInt64, _ keys: DatabaseKeys) {
        guard let common = RequestReads(reader) else { return }
        common.announce([keys.header()])
        common.announce(keys.changes(after: position), limit: Self.pageCount)
    }

    /// Announces whether deleted zones exist again, and otherwise why they were deleted.
    func announceDeletions(in changes: some Sequence<DatabaseChangeEntry>, limit: Int, _ keys: DatabaseKeys) {
        guard let common = RequestReads(reader) else { return }
        let zones = changes.filter { $0.kind == .deleted }.map(\.zone).prefix(limit)
        common.announce(zones.flatMap { [keys.zone($0), keys.zoneMarker($0)] })
    }
}
