// Asking the owners of shares for access.

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
            try requireSharing()
            let account = try requireAccount(caller)
            let answers = urls.map { url in
                changingShare(url, as: caller, &event) { found, draw, transaction in
                    let content = try AccessRequestVerdict.asked(
                        in: found.content, found.verdict, by: account, id: draw.id, date: draw.date)
                    // In the name of whoever changed the share last: only owner and administrators may know who asks.
                    let user = found.stored.system.modified.user
                    _ = try write(content, in: found, modifiedBy: user, draw, transaction)
                    return ShareAnswer(value: (), hasWritten: content != found.content)
                }
            }
            event.count(answers)
            return answers
        }
    }
}
