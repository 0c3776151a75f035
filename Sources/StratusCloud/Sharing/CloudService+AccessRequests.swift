// Asking the owners of shares for access. Nobody but owner and administrators may learn of it, so the share's record
// is not saved anew: it keeps its tag, its dates and its place in the feeds, and only holds one requester more.

import FoundationEssentials
import StratusModel
import StratusRecords

extension CloudService {
    /// Asks the owners of shares for access (P-20, P-22). That it is answered says no more than that it was asked: to
    /// members, to those who are invited or may join, and to those who have asked or are blocked it says the same.
    ///
    /// Throws as `shareMetadata`. An item fails with `unknownItem` where the share takes no requests, just as if there
    /// were none (P-20), with `limitExceeded` where too many people have asked.
    package func requestShareAccess(
        _ urls: [String], as caller: Caller
    ) throws(CloudError) -> [Result<Void, CloudError>] {
        try reporting(.requestShareAccess, caller, itemCount: urls.count) { event in
            try RequestLimits.checkItemCount(urls.count, options)
            try requireSharing(in: caller.container)
            try requireAccount(caller)
            let answers = urls.map { url in
                changingShare(url, as: caller, &event) { found, draw, transaction in
                    try ask(for: found, draw, transaction)
                }
            }
            event.count(answers)
            return answers
        }
    }

    /// A commit is as long as its flush, so it is made for everybody who may ask, also where it changes nothing: who is
    /// blocked must not learn it from the clock.
    private func ask(
        for found: FoundShare, _ draw: ShareDraw, _ transaction: RecordTransaction
    ) throws -> ShareAnswer<Void> {
        let requesters = try AccessRequestVerdict.requesters(
            of: found.content, found.verdict, askedBy: found.guest, id: draw.id, date: draw.date)
        guard let requesters else { return ShareAnswer(value: (), hasWritten: false) }
        let zone = try transaction.existingZone(found.place.zoneID)
        try ShareWriter(acceptanceDirectory, to: zone, in: transaction).write(
            requesters, of: found.content, in: found.stored, stamp: Stamp(date: draw.date, user: found.guest.user))
        return ShareAnswer(value: (), hasWritten: true)
    }
}
