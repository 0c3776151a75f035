// Identities: 122 random bits from a generator that the caller passes in.
//
// Foundation's `UUID()` is used nowhere. On Linux it opens /dev/urandom on every call, and where that fails (no free
// descriptor, no /dev) it returns one constant without an error. Two things that were created then have one identity,
// and any account that may see the one sees the other.

package import FoundationEssentials

extension UUID {
    /// A random UUID (version 4) from two numbers of the generator. Equal numbers give equal UUIDs, on every machine.
    package static func drawn(from generator: inout some RandomNumberGenerator) -> UUID {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(16)
        for _ in 0..<2 {
            let number = generator.next()
            for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
        }
        let b = bytes
        return UUID(
            uuid: (
                b[0], b[1], b[2], b[3], b[4], b[5], b[6] & 0x0F | 0x40, b[7], b[8] & 0x3F | 0x80, b[9], b[10], b[11],
                b[12], b[13], b[14], b[15]
            ))
    }

    /// What Foundation's `UUID()` returns where it cannot open its source: 00000000-0000-4000-8000-000000000000. Stores
    /// of earlier versions may hold it.
    package static let withoutRandomness = UUID(uuid: (0, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 0))

    /// Whether a name is that constant, however it is written: upper or lower case, with or without hyphens, and behind
    /// a prefix as the names of shares and users have.
    package static func isWithoutRandomness(_ name: String) -> Bool {
        let digits = name.utf8.filter { $0 != UInt8(ascii: "-") }
        return digits.count >= 32 && digits.suffix(32).elementsEqual("00000000000040008000000000000000".utf8)
    }
}
