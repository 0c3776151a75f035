// The first bytes of keys, beside the numbers of entries: most comparisons need no more.
//
// Unsafe: a key's bytes are read while its owner lends them, and never more of them than it has.

/// The newest entry of a key, in the order of keys.
struct PendingSlot {
    var beginning: KeyBeginning
    /// Its place in the history.
    var number: UInt32
}

/// The first bytes of a key, as numbers that sort as they do: those of zones and keyspaces, and a part of a name. Shorter
/// keys have zeros behind them, so that only different beginnings say which key is first.
struct KeyBeginning: Equatable {
    let high: UInt64
    let low: UInt64

    /// That of the empty key.
    static let zero = KeyBeginning(high: 0, low: 0)

    private init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }

    @inline(__always)
    init(_ key: EngineBytes) {
        guard unsafe key.count >= 16 else {
            var numbers: (UInt64, UInt64) = (0, 0)
            unsafe withUnsafeMutableBytes(of: &numbers) { room in
                for index in unsafe 0..<key.count { unsafe room[index] = unsafe key.base[index] }
            }
            (high, low) = (numbers.0.bigEndian, numbers.1.bigEndian)
            return
        }
        let bytes = unsafe UnsafeRawPointer(key.base)
        high = unsafe bytes.loadUnaligned(as: UInt64.self).bigEndian
        low = unsafe bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self).bigEndian
    }

    @inline(__always)
    func precedes(_ other: KeyBeginning) -> Bool { high != other.high ? high < other.high : low < other.low }
}
