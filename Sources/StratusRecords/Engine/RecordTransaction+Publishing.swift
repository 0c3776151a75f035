// What a cache of the floor above needs to be exact: it hears of commits in order, and knows what is still in flight.

package import StratusStore

extension RecordTransaction {
    /// Registers what must happen in the instant this transaction becomes visible, never if it fails. The action must
    /// be short and must not call the store.
    package func onPublish(_ action: @escaping @Sendable (StoreVersion) -> Void) { transaction?.onPublish(action) }

    /// Whether a write of this key is not yet part of the transaction's version: a cache knows nothing of it then.
    package func hasUnpublishedWrite(forKey key: [UInt8]) -> Bool {
        transaction?.hasUnpublishedWrite(forKey: key) ?? false
    }

    /// Whether a write of any key of the range is not yet part of the transaction's version.
    package func hasUnpublishedWrite(in range: KeyRange) -> Bool {
        transaction?.hasUnpublishedWrite(in: range) ?? false
    }
}
