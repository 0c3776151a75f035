// Seals change tokens and cursors for clients, so that no client can read, create or change one, or use it in another
// place.
//
//   bytes: version 1 · kind · 12 bytes: nonce · encrypted contents · 16 bytes: authenticator
//
// The cipher is ChaCha20-Poly1305 with keys derived from the store's secret. The nonce is the beginning of an
// HMAC-SHA256 over the contents and the binding, with its own key. So equal states give equal tokens (C-18), a nonce
// repeats only with equal contents, and no random numbers are needed. The token does not contain its binding: opening
// it requires the same binding, and a token with another binding looks like a forged one. The authenticator is compared
// in constant time.

import Crypto
import FoundationEssentials
import StratusLayout
package import StratusModel
package import StratusRecords
import StratusStore

/// The use of a sealed value. Tokens contain the raw values: they never change.
package enum TokenKind: UInt8, Hashable, Sendable, CaseIterable {
    case database = 1
    case zone = 2
    case query = 3
    case notifications = 4
    case web = 5
}

/// The user and place of a sealed value. It can only be opened with the same binding.
package struct TokenBinding: Hashable, Sendable {
    package var user: UserName?
    package var container: ContainerName
    package var database: DatabaseSelector
    /// The zone as the server resolves it; nil for the database.
    package var zone: ZoneID?

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
    /// Initialized with its key only: each nonce continues from a copy.
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

    /// The contents of a token; nil for a token that this store has not sealed for this use and binding.
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
    /// The error for a change token of another zone, database, account or store, or a damaged or forged one, without
    /// saying which. Clients start over on this code, as with a token that is too old.
    static var foreignToken: CloudError {
        CloudError(
            .changeTokenExpired, inner: InnerCode.tokenExpired,
            "The change token is not for this zone, database, account and store. Fetch without a token.",
            ["rule": "X-30"])
    }

    /// The same for the cursor of a query.
    static var foreignCursor: CloudError {
        CloudError(
            .invalidArguments,
            "The cursor is not for this database, account and store. Run the query again without a cursor.",
            ["rule": "X-30"])
    }

    /// The reason of an expired token if another zone has the name. A sync engine then drops all records of the zone.
    package static let reasonZoneRecreated = "the zone was recreated"

    static func expiredToken(_ reason: String) -> CloudError {
        CloudError(
            .changeTokenExpired, inner: InnerCode.tokenExpired, "client knowledge differs from server knowledge",
            ["reason": reason])
    }
}

/// Keeps the seal of a store's tokens. The store's secret is created when the store is first opened, and never changes.
package final class TokenKeeper: Sendable {
    private struct Known {
        var seal: TokenSeal?
        var hasMadeSecret = false
    }

    private let known = Locked(Known())

    /// Whether this keeper created the store's secret, so no other process has ever issued a token of the store.
    package var hasMadeSecret: Bool { known.value.hasMadeSecret }

    /// The seal. Creates the store's secret if there is none yet: one commit in the life of a store. A host calls it
    /// when it opens the store, so that copies of the store include the secret and accept its tokens.
    ///
    /// Do not call it in a transaction. Throws the store's errors.
    @discardableResult
    package func seal(of engine: RecordEngine, _ identifiers: any IdentifierSource) throws -> TokenSeal {
        if let seal = known.value.seal { return seal }
        var secret = try engine.read { try Self.secret(in: $0) }
        var isMade = false
        if secret == nil {
            let drawn = identifiers.makeSecret(byteCount: TokenSecretEntry.byteCount)
            (secret, isMade) = try engine.transact { transaction in
                // Another thread may have been faster.
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
