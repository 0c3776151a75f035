// Keeps the secret of a store's tokens: made when the first token is, and never again.

import StratusLayout
package import StratusRecords
import StratusStore

/// Hands out the seal of a store's tokens.
package final class TokenKeeper: Sendable {
    private let known = Locked<TokenSeal?>(nil)

    package init() {}

    /// The seal. Makes the store's secret where there is none yet: one commit in the life of a store.
    ///
    /// Not to be called in a transaction. Throws the store's errors.
    package func seal(of engine: RecordEngine, _ identifiers: any IdentifierSource) throws -> TokenSeal {
        if let known = known.value { return known }
        var secret = try engine.read { try Self.secret(in: $0) }
        if secret == nil {
            let drawn = identifiers.makeSecret(byteCount: TokenSecretEntry.byteCount)
            secret = try engine.transact { transaction in
                // Somebody may have been faster.
                if let secret = try Self.secret(in: transaction) { return secret }
                try transaction.set(GlobalKeys.tokenSecret(), to: TokenSecretEntry(secret: drawn).encoded())
                return drawn
            }
        }
        guard let secret else { throw CloudError(.internalError, "The store has no secret for tokens.") }
        let seal = TokenSeal(secret: secret)
        known.withLock { $0 = seal }
        return seal
    }

    private static func secret(in reader: RecordReader) throws -> [UInt8]? {
        try reader.store.withValue(forKey: GlobalKeys.tokenSecret()) { try TokenSecretEntry(decoding: $0).secret }
    }
}
