// Keeps the secret of a store's tokens: made when the store is opened first, and never again.

import StratusLayout
package import StratusRecords
import StratusStore

/// Hands out the seal of a store's tokens.
package final class TokenKeeper: Sendable {
    private struct Known {
        var seal: TokenSeal?
        var hasMadeSecret = false
    }

    private let known = Locked(Known())

    package init() {}

    /// Whether the store had no secret until this keeper made it: nobody else has ever given a token of the store.
    package var hasMadeSecret: Bool { known.value.hasMadeSecret }

    /// The seal. Makes the store's secret where there is none yet: one commit in the life of a store. A host calls it when
    /// it opens the store, so that copies of it take the secret along and know the tokens that others give.
    ///
    /// Not to be called in a transaction. Throws the store's errors.
    @discardableResult
    package func seal(of engine: RecordEngine, _ identifiers: any IdentifierSource) throws -> TokenSeal {
        if let seal = known.value.seal { return seal }
        var secret = try engine.read { try Self.secret(in: $0) }
        var isMade = false
        if secret == nil {
            let drawn = identifiers.makeSecret(byteCount: TokenSecretEntry.byteCount)
            (secret, isMade) = try engine.transact { transaction in
                // Somebody may have been faster.
                if let secret = try Self.secret(in: transaction) { return (secret, false) }
                try transaction.set(GlobalKeys.tokenSecret(), to: TokenSecretEntry(secret: drawn).encoded())
                return (drawn, true)
            }
        }
        guard let secret else { throw CloudError(.internalError, "The store has no secret for tokens.") }
        let seal = TokenSeal(secret: secret)
        known.withLock { known in
            known.seal = seal
            if isMade { known.hasMadeSecret = true }
        }
        return seal
    }

    private static func secret(in reader: RecordReader) throws -> [UInt8]? {
        try reader.store.withValue(forKey: GlobalKeys.tokenSecret()) { try TokenSecretEntry(decoding: $0).secret }
    }
}
