// What a keyspace holds, in two numbers: so that millions of entries are compared with what they should be by reading them
// once in their order, and not one by one.
//
// Invariant: the numbers do not depend on the order in which entries are added. Equal tallies of different entries are as
// likely as two equal random numbers of 64 bits.

/// How many entries there are, and which.
struct EntryTally: Hashable, Sendable {
    private(set) var count = 0
    private var fingerprint: UInt64 = 0

    mutating func add(_ key: Span<UInt8>, _ value: Span<UInt8>) {
        var hash = Self.hash(key, from: 0xCBF2_9CE4_8422_2325)
        // The length, so that no byte of a key can pass for one of its value.
        hash = (hash ^ UInt64(key.count)) &* Self.prime
        hash = Self.hash(value, from: hash)
        count += 1
        fingerprint &+= Self.mixed(hash)
    }

    /// Counts an entry without looking at it.
    mutating func addUnseen() { count += 1 }

    private static let prime: UInt64 = 0x100_0000_01B3

    /// FNV-1a.
    private static func hash(_ bytes: Span<UInt8>, from start: UInt64) -> UInt64 {
        var hash = start
        for index in bytes.indices { hash = (hash ^ UInt64(bytes[index])) &* prime }
        return hash
    }

    /// Makes every bit depend on all others, because hashes are added up.
    private static func mixed(_ hash: UInt64) -> UInt64 {
        var mixed = (hash ^ (hash >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
