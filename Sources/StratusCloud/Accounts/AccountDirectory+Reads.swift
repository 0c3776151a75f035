// What look-ups of people read, announced before it is read. See `ZoneReads`.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

extension AccountDirectory {
    /// Announces identities, and the accounts to which they led when they were last read.
    func announce(_ identities: [[UInt8]], in reader: RecordReader) {
        guard reader.store.gainsFromPrefetching else { return }
        reader.store.prefetch(identities)
        reader.store.prefetch(identities.compactMap { guessedIDs.guess(for: $0).map { GlobalKeys.account($0) } })
    }

    /// Announces accounts.
    func announce(_ accounts: [AccountID], in reader: RecordReader) {
        guard reader.store.gainsFromPrefetching else { return }
        reader.store.prefetch(accounts.map { GlobalKeys.account($0) })
    }
}
