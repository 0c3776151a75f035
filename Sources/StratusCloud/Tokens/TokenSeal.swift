// Change tokens and cursors as clients get them: sealed, so that nobody reads what is in them, makes one, changes one, or
// uses one where it was not given.
//
//   bytes: version 1 · kind · 12 bytes: nonce · what it holds, encrypted · 16 bytes: authenticator
//
// ChaCha20-Poly1305 under keys derived from the store's secret. The nonce is the beginning of an HMAC-SHA256 over the
// contents and what they are bound to, under a key of its own, so that equal states give equal tokens (C-18), a nonce comes
// twice only with equal contents, and nothing has to be drawn. What a token is bound to is not in it: whoever opens it says
// that anew, and a token of anything else is not told from a forged one. The authenticator is compared in constant time.

import Crypto
import FoundationEssentials
import StratusLayout
package import StratusModel
package import StratusRecords
import StratusStore

/// What a sealed value is for. The raw values are in tokens: they never change.
package enum TokenKind: UInt8, Hashable, Sendable, CaseIterable {
    case database = 1
    case zone = 2
    case query = 3
    case notifications = 4
    case web = 5
}

/// Whose a sealed value is, and of what: nobody else's, and of nothing else, is opened.
package struct TokenBinding: Hashable, Sendable {
    package var user: UserName?
    package var container: ContainerName
    package var database: DatabaseSelector
    /// The zone as the server resolves it; nil for the database.
    package var zone: ZoneID?

    package init(user: UserName?, container: ContainerName, database: DatabaseSelector, zone: ZoneID? = nil) {
        self.user = user
        self.container = container
        self.database = database
        self.zone = zone
    }

    /// The parts, each with its length, so that no two bindings are the same bytes.
    fileprivate func bytes(_ kind: TokenKind) -> [UInt8] {
        var bytes: [UInt8] = [TokenSeal.version, kind.rawValue, database.rawValue]
        let parts = [user?.text, container.text, zone?.database.owner?.text, zone?.name.text]
        for part in parts {
            guard let part else {
                bytes.append(0)
                continue
            }
            bytes.append(1)
            let count = UInt32(clamping: part.utf8.count)
            for shift in [24, 16, 8, 0] as [UInt32] { bytes.append(UInt8(truncatingIfNeeded: count >> shift)) }
            bytes += Array(part.utf8)
        }
        return bytes
    }
}

/// Seals and opens under the secret of one store.
package struct TokenSeal: Sendable {
    package static let version: UInt8 = 1
    private static let headByteCount = 2
    private static let nonceByteCount = 12
    private static let tagByteCount = 16

    private let encryption: SymmetricKey
    /// With its key and nothing else: who names something goes on from a copy.
    private let naming: HMAC<SHA256>

    package init(secret: [UInt8]) {
        func key(_ use: String) -> SymmetricKey {
            let code = HMAC<SHA256>.authenticationCode(for: Array(use.utf8), using: SymmetricKey(data: secret))
            return SymmetricKey(data: Data(code))
        }
        encryption = key("stratus token encryption 1")
        naming = HMAC(key: key("stratus token nonce 1"))
    }

    package func sealed(_ contents: [UInt8], _ kind: TokenKind, for binding: TokenBinding) throws -> [UInt8] {
        let bound = binding.bytes(kind)
        var hash = naming
        hash.update(data: bound)
        hash.update(data: contents)
        let nonce = Array(hash.finalize().prefix(Self.nonceByteCount))
        let box = try ChaChaPoly.seal(
            contents, using: encryption, nonce: ChaChaPoly.Nonce(data: nonce), authenticating: bound)
        return [Self.version, kind.rawValue] + nonce + Array(box.ciphertext) + Array(box.tag)
    }

    /// What a token holds; nil for whatever this store has not sealed for just this.
    package func opened(_ token: [UInt8], _ kind: TokenKind, for binding: TokenBinding) -> [UInt8]? {
        let start = Self.headByteCount + Self.nonceByteCount
        guard token.count >= start + Self.tagByteCount, token[0] == Self.version, token[1] == kind.rawValue,
            let nonce = try? ChaChaPoly.Nonce(data: token[Self.headByteCount..<start]),
            let box = try? ChaChaPoly.SealedBox(
                nonce: nonce, ciphertext: token[start..<(token.count - Self.tagByteCount)],
                tag: token[(token.count - Self.tagByteCount)...]),
            let contents = try? ChaChaPoly.open(box, using: encryption, authenticating: binding.bytes(kind))
        else { return nil }
        return Array(contents)
    }
}

extension CloudError {
    /// A change token of another zone, database, account or store, or one that is damaged or forged: which of them is not
    /// said. Clients start over on the code, as they do with a token that is too old.
    static var foreignToken: CloudError {
        CloudError(
            .changeTokenExpired, inner: InnerCode.tokenExpired,
            "The change token was not given for this zone, database, account and store: fetch without a token.",
            ["rule": "X-30"])
    }

    /// The same for the cursor of a query.
    static var foreignCursor: CloudError {
        CloudError(
            .invalidArguments,
            "The cursor was not given for this database, account and store: ask the query again without a cursor.",
            ["rule": "X-30"])
    }

    /// Why a zone's token has expired where another zone has the name: by that a sync engine knows that all is gone.
    package static let reasonZoneMadeAnew = "the zone was made anew"

    static func expiredToken(_ reason: String) -> CloudError {
        CloudError(
            .changeTokenExpired, inner: InnerCode.tokenExpired, "client knowledge differs from server knowledge",
            ["reason": reason])
    }
}

// Keeps the secret of a store's tokens: made when the store is opened first, and never again.

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
