// A place in a query's results as clients keep it: bytes that only the server reads. Top-level, because Foundation on
// Linux cannot archive nested classes; clients say `CKQueryOperation.Cursor`.
//
// Invariants: immutable; made by the server's answers and by archives alone. What an archive holds is a claim, which the
// server checks.

public import Foundation
package import StratusRecords

/// Where a query's results go on. It holds the query; two are equal when they stand for the same place.
public final class CKQueryCursor: NSObject, NSSecureCoding, NSCopying, Sendable {
    let bytes: [UInt8]
    /// What the query has done up to here, for whoever shows how far it has come. It is no part of the place: archives do not
    /// hold it, so that a cursor out of one begins at nothing, and cursors are equal without it.
    package let work: QueryWork

    init(_ bytes: [UInt8], work: QueryWork = QueryWork()) {
        self.bytes = bytes
        self.work = work
        super.init()
    }

    public override func isEqual(_ object: Any?) -> Bool { (object as? CKQueryCursor)?.bytes == bytes }

    public override var hash: Int { bytes.hashValue }

    public override var description: String { "<CKQueryCursor: \(bytes.count) bytes>" }

    // MARK: Copying and archiving

    /// The same object, which never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    public static override func classFallbacksForKeyedArchiver() -> [String] { ["CKQueryCursor"] }

    /// Archives the cursor.
    public func encode(with coder: NSCoder) {
        let key = coder.isOfApple ? CoderKey.Apple.cursor : CoderKey.cursor
        coder.encode(NSData(data: Data(bytes)), forKey: key)
    }

    /// Decodes a cursor; nil where there is none. One of Apple's systems is a cursor like any other of another server: it is
    /// refused when a query goes on from it.
    public convenience init?(coder: NSCoder) {
        let data =
            coder.decodeValue(of: NSData.self, forKey: CoderKey.cursor)
            ?? coder.decodeValue(of: NSData.self, forKey: CoderKey.Apple.cursor)
        guard let data, data.length > 0 else { return nil }
        self.init([UInt8](Data(referencing: data)))
    }
}
