// Doubles as unsigned integers that sort as the doubles do: IEEE 754's total order.
//
// -NaN < -infinity < ... < -0.0 < 0.0 < ... < infinity < NaN, and NaNs among themselves by sign and payload. The
// mapping keeps every bit: what is read is what was written, -0.0 and a NaN's payload included. So 0.0 and -0.0 are
// different elements with different bytes; whoever wants them equal writes `value + 0.0` (which turns -0.0 into 0.0).

extension Double {
    /// The value's place in the total order.
    package var orderedBits: UInt64 {
        let bits = bitPattern
        return bits >> 63 == 0 ? bits | (1 << 63) : ~bits
    }

    /// The value at a place in the total order.
    package init(orderedBits: UInt64) {
        self.init(bitPattern: orderedBits >> 63 == 1 ? orderedBits & ~(1 << 63) : ~orderedBits)
    }
}
