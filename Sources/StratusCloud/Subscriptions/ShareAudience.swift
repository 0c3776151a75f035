// Whether anybody hears of what happened in shares: those who see them and have subscribed to their shared databases. Who is
// told in the end is decided when it is delivered; this keeps commits of which nobody would be told from leaving anything.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

struct ShareAudience {
    /// People who are asked for in one commit. Where none of them listens, somebody behind them may.
    private static let lookCount = 64

    let directory: SubscriptionDirectory
    let zone: ZoneReader
    let transaction: RecordTransaction

    /// The news that somebody may hear of. To be asked when the plan has been carried out.
    func heard(of news: [SharedNews]) throws -> [SharedNews] {
        var left = Self.lookCount
        return try news.filter { news in
            guard let users = try news.users ?? viewers(of: news.share) else { return true }
            for user in users {
                guard left > 0 else { return true }
                left -= 1
                if try directory.listensToShared(user, in: zone.id.database.container, transaction) { return true }
            }
            return false
        }
    }

    /// Who sees a share, but for its owner; nil where what is stored of it cannot be read: whoever delivers says so.
    private func viewers(of share: RecordName) throws -> [UserName]? {
        do {
            guard let content = try zone.record(share)?.record.shareContent() else { return [] }
            return content.viewers.subtracting([zone.id.database.owner].compactMap { $0 }).sorted()
        } catch let error as RecordsError {
            guard error.code == .corruption else { throw error }
            return nil
        } catch is LayoutError {
            return nil
        }
    }
}
