// Bytes in memory that LevelDB or the lane's arena owns.
//
// Unsafe: the code that creates one guarantees that the memory does not change while the value is used. Values of this
// type never leave this target. Callers outside get a `Span` that is valid during one call.

internal import Glibc
internal import StratusStore

/// A borrowed run of bytes, in byte order like LevelDB's own keys.
@unsafe struct EngineBytes {
    let base: UnsafePointer<UInt8>
    let count: Int

    init(_ base: UnsafePointer<UInt8>, count: Int) {
        unsafe self.base = unsafe base
        unsafe self.count = count
    }

    init(_ buffer: UnsafeBufferPointer<UInt8>) {
        unsafe self.base = unsafe buffer.baseAddress ?? Self.nowhere
        unsafe self.count = buffer.count
    }

    /// Bytes as C functions return them.
    init(characters: UnsafePointer<CChar>?, count: Int) {
        unsafe self.base = unsafe UnsafeRawPointer(characters)?.assumingMemoryBound(to: UInt8.self) ?? Self.nowhere
        unsafe self.count = count
    }

    /// The address of an empty run, because C functions need one even for no bytes. `nonisolated(unsafe)` because no
    /// code reads or writes there.
    nonisolated(unsafe) private static let nowhere = unsafe UnsafePointer(
        UnsafeMutablePointer<UInt8>.allocate(capacity: 1))

    /// The same bytes as C's `char`.
    var characters: UnsafePointer<CChar> {
        unsafe UnsafeRawPointer(base).assumingMemoryBound(to: CChar.self)
    }

    /// Negative, zero or positive as these bytes sort before, with or after `other`.
    @inline(__always)
    func compare(_ other: EngineBytes) -> Int {
        let shorter = unsafe count < other.count ? count : other.count
        let order = unsafe memcmp(base, other.base, shorter)
        return unsafe order != 0 ? Int(order) : count - other.count
    }

    /// A hash of 64 bits: eight bytes at a time, each folded in by a full-width multiplication. Clients choose names,
    /// so to find keys by their hashes alone, use a seed that clients cannot predict.
    func hash(seed: UInt64 = 0) -> UInt64 {
        var hash = UInt64(truncatingIfNeeded: unsafe count) &+ 0x9E37_79B9_7F4A_7C15 &+ seed
        func fold(_ word: UInt64) {
            let product = (hash ^ word).multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
            hash = product.high ^ product.low
        }
        let start = unsafe UnsafeRawPointer(base)
        var position = 0
        while unsafe position + 8 <= count {
            unsafe fold(start.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            position += 8
        }
        var rest: UInt64 = 0
        while unsafe position < count {
            rest = unsafe rest << 8 | UInt64(base[position])
            position += 1
        }
        fold(rest)
        // A second time, because a product's bits depend on those below them.
        fold(0x2545_F491_4F6C_DD1D)
        return hash
    }

    @inline(__always)
    func withSpan<Result>(_ body: (Span<UInt8>) throws -> Result) rethrows -> Result {
        try body(unsafe Span(_unsafeStart: base, count: count))
    }

    /// Copies into `bytes`, reusing its memory.
    @inline(__always)
    func copy(to bytes: inout [UInt8]) {
        bytes.removeAll(keepingCapacity: true)
        unsafe bytes.append(contentsOf: UnsafeBufferPointer(start: base, count: count))
    }
}

extension [UInt8] {
    /// Lends the array's own memory.
    @inline(__always)
    func withEngineBytes<Result, Failure: Error>(
        _ body: (EngineBytes) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe withUnsafeBufferPointer { buffer throws(Failure) in
            try unsafe body(EngineBytes(buffer))
        }
    }
}

extension KeyRange {
    /// Whether any key can be in the range.
    var holdsKeys: Bool {
        unsafe withEngineBytes { unsafe $0.compare($1) < 0 }
    }

    func withEngineBytes<Result>(
        _ body: (_ lower: EngineBytes, _ upper: EngineBytes) throws -> Result
    ) rethrows -> Result {
        try unsafe lower.withEngineBytes { lowerBytes in
            try unsafe upper.withEngineBytes { try unsafe body(lowerBytes, $0) }
        }
    }
}
