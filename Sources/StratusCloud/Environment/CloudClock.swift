// Time and identifiers come from outside, so that a test can move them by hand and draw them from a seed.

package import FoundationEssentials

/// The two clocks of a store.
package protocol CloudClock: Sendable {
    /// The wall clock: what records are stamped with.
    var now: Date { get }
    /// A clock that never goes back, in seconds from any beginning: time-outs, retries, purges.
    var uptimeSeconds: Double { get }
}

/// Where a store's identities and salts come from. Drawn before a transaction, never in its body.
package protocol IdentifierSource: Sendable {
    func makeUUID() -> UUID
    func makeSalt() -> UInt32
    /// Bytes that nobody can guess: keys and secret URLs.
    func makeSecret(byteCount: Int) -> [UInt8]
}
