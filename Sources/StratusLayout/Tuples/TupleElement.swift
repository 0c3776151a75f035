// An element of a tuple as a value: what generic code, the tool and the tests handle; keys are built and read typed.

package import FoundationEssentials

/// One element of a tuple.
///
/// Equality, hash and order are those of the encoding, not those of the Swift values: strings compare by UTF-8 bytes
/// (so that "é" composed and decomposed differ), doubles and dates by IEEE 754's total order (so that -0.0 < 0.0 and a
/// NaN equals itself), and `.integer(5)` equals `.unsigned(5)`.
package enum TupleElement: Sendable {
    case null
    case bytes([UInt8])
    case string(String)
    case nested([TupleElement])
    /// A reader hands out this case for every integer that fits it.
    case integer(Int64)
    /// An integer above `Int64.max`; smaller ones may be written so too, and are read back as `.integer`.
    case unsigned(UInt64)
    case double(Double)
    case boolean(Bool)
    case uuid(UUID)
    case date(Date)
}

extension UUID {
    /// The sixteen bytes as two numbers that sort, high first, as the bytes do.
    var bigEndianHalves: (high: UInt64, low: UInt64) {
        let b = uuid
        return (
            high: UInt64(bigEndian: b.0, b.1, b.2, b.3, b.4, b.5, b.6, b.7),
            low: UInt64(bigEndian: b.8, b.9, b.10, b.11, b.12, b.13, b.14, b.15)
        )
    }

    /// The identifier whose sixteen bytes are these two numbers.
    init(high: UInt64, low: UInt64) {
        let h = high.bigEndianBytes
        let l = low.bigEndianBytes
        self.init(uuid: (h.0, h.1, h.2, h.3, h.4, h.5, h.6, h.7, l.0, l.1, l.2, l.3, l.4, l.5, l.6, l.7))
    }
}

extension UInt64 {
    // Eight parameters, because that is how Foundation hands out the bytes of an identifier.
    fileprivate init(
        bigEndian b0: UInt8, _ b1: UInt8, _ b2: UInt8, _ b3: UInt8, _ b4: UInt8, _ b5: UInt8, _ b6: UInt8, _ b7: UInt8
    ) {
        let high = UInt64(b0) << 56 | UInt64(b1) << 48 | UInt64(b2) << 40 | UInt64(b3) << 32
        let low = UInt64(b4) << 24 | UInt64(b5) << 16 | UInt64(b6) << 8 | UInt64(b7)
        self = high | low
    }

    fileprivate var bigEndianBytes: (UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8) {
        func byte(_ shift: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: self >> shift) }
        return (byte(56), byte(48), byte(40), byte(32), byte(24), byte(16), byte(8), byte(0))
    }
}
