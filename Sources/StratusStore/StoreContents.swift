// Large contents in a store, for stores that have no directory beside them. They are outside of snapshots and
// transactions: an entry that names a content is written after its parts.

/// Large contents in a store: parts under a name, outside of snapshots. A part is durable when `append` returns.
package protocol StoreContents: Sendable {
    /// The size of every part but the last.
    var partByteCount: Int { get }

    /// Writes parts, the first of which has this index, in one commit. At most 16 at a time.
    func append(_ parts: [[UInt8]], from index: Int, to name: [UInt8]) throws

    /// The part with this index; nil if there is none.
    func part(_ index: Int, of name: [UInt8]) throws -> [UInt8]?

    /// The names after `name`, or the first ones, in byte order.
    func names(after name: [UInt8]?, limit: Int) throws -> [[UInt8]]

    /// Removes at most `limit` parts. Returns false if parts are left.
    func remove(_ name: [UInt8], limit: Int) throws -> Bool

    /// The store's clock, in milliseconds since 1970. All processes that use the store see the same one.
    func milliseconds() throws -> UInt64
}
