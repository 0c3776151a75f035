// The first step of deleting an account, and the list of those that are not at their end; `DepartureRunner` has the rest.

import StratusLayout
package import StratusModel
package import StratusRecords
import StratusStore

/// A deleted account whose data is still being removed.
package struct Departure: Hashable, Sendable {
    package var userName: UserName
    package var account: AccountID

    package init(userName: UserName, account: AccountID) {
        self.userName = userName
        self.account = account
    }
}

extension AccountDirectory {
    /// Removes an account and everything that leads to it; a departure entry takes its place. Returns nil when there is
    /// no such account.
    package func depart(_ id: AccountID, in transaction: RecordTransaction) throws -> Departure? {
        guard let account = try account(id, in: transaction) else { return nil }
        for key in Self.identityKeys(of: account) { try transaction.delete(key) }
        try transaction.delete(GlobalKeys.account(id))
        try transaction.set(
            GlobalKeys.departure(of: account.userName), to: DepartureEntry(account: id).encoded())
        publish(id, nil, in: transaction)
        return Departure(userName: account.userName, account: id)
    }

    /// The departures that are not finished, at most `limit` of them.
    package func departures(limit: Int = AccountLimits.pageCount, in reader: RecordReader) throws -> [Departure] {
        var departures: [Departure] = []
        try reader.store.scan(GlobalKeys.departures.keyRange, .forward, limit: limit) { key, value in
            departures.append(
                Departure(
                    userName: try GlobalKeys.readDepartureKey(key),
                    account: try DepartureEntry(decoding: value).account))
            return .next
        }
        return departures
    }
}
