// A place in a feed of changes as clients keep it: bytes that only the server reads.
//
// Invariants: immutable; made by the server's answers and by archives alone. What an archive holds is a claim, which the
// server checks.

public import Foundation

/// How far a client has followed the changes of a database or of a zone.
///
/// Only the server makes tokens. Keep one with what was fetched up to it, archived with `NSKeyedArchiver`, and give it
/// to the next fetch of the same account, database and zone (T-01); any other is refused. Two are equal when they stand
/// for the same place (C-18).
public final class CKServerChangeToken: NSObject, NSSecureCoding, NSCopying, Sendable {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        super.init()
    }

    public override func isEqual(_ object: Any?) -> Bool {
        (object as? CKServerChangeToken)?.bytes == bytes
    }

    public override var hash: Int { bytes.hashValue }

    public override var description: String { "<CKServerChangeToken: \(bytes.count) bytes>" }

    // MARK: Copying and archiving

    /// The same object, which never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    public static override func classFallbacksForKeyedArchiver() -> [String] { ["CKServerChangeToken"] }

    /// Archives the token.
    public func encode(with coder: NSCoder) {
        let key = coder.isOfApple ? CoderKey.Apple.changeToken : CoderKey.changeToken
        coder.encode(NSData(data: Data(bytes)), forKey: key)
    }

    /// Decodes a token; nil where there is none. One of Apple's systems is a token like any other of another server: it is
    /// refused when it is given to a fetch.
    public convenience init?(coder: NSCoder) {
        let data =
            coder.decodeValue(of: NSData.self, forKey: CoderKey.changeToken)
            ?? coder.decodeValue(of: NSData.self, forKey: CoderKey.Apple.changeToken)
        guard let data, data.length > 0 else { return nil }
        self.init([UInt8](Data(referencing: data)))
    }
}
