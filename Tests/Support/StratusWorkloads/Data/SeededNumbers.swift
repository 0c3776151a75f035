// Numbers from a seed, the same on every machine and in every process: a record's name follows from its index alone.

package import StratusModel

/// SplitMix64.
package struct SeededNumbers: RandomNumberGenerator {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return Self.mixed(state)
    }

    package mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    package static func mixed(_ value: UInt64) -> UInt64 {
        var mixed = value
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

extension RecordName {
    /// The random UUID that is the name of the record with this index in the data set of `seed`.
    package init(seed: UInt64, index: Int) {
        // Not the same for seed and index exchanged: one data set's names would be another's.
        var numbers = SeededNumbers(seed: SeededNumbers.mixed(SeededNumbers.mixed(seed) &+ UInt64(index)))
        let digits = Array<UInt8>("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(36)
        for _ in 0..<2 {
            let half = numbers.next()
            for shift in stride(from: UInt64(60), through: 0, by: -4) {
                if [8, 13, 18, 23].contains(bytes.count) { bytes.append(UInt8(ascii: "-")) }
                bytes.append(digits[Int(half >> shift & 15)])
            }
        }
        self.init(String(decoding: bytes, as: UTF8.self))
    }
}
