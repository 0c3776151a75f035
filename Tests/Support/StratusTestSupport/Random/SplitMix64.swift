// The random generator of every random test: one number, the seed, decides the whole run.
//
// A test prints its seed, and each case has a generator of its own derived from seed and case number, so that a failure
// is one seed and one number. STRATUS_SEED=N runs every random test from another seed.

package import FoundationEssentials

/// SplitMix64: small, fast, good enough for tests, the same on every machine.
package struct SplitMix64: RandomNumberGenerator, Sendable {
    /// The number this generator began with.
    package let seed: UInt64
    private var state: UInt64

    package init(seed: UInt64) {
        self.seed = seed
        self.state = seed
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return Self.mixed(state)
    }

    /// A generator for one case of a run, independent of how many numbers the cases before it drew.
    package func generator(forCase index: Int) -> SplitMix64 {
        SplitMix64(seed: Self.mixed(seed ^ Self.mixed(UInt64(truncatingIfNeeded: index) &+ 1)))
    }

    private static func mixed(_ value: UInt64) -> UInt64 {
        var mixed = value
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

extension SplitMix64 {
    /// The generator of a test: seeded with STRATUS_SEED when it is set, else with `defaultSeed`; prints the seed.
    package static func announced(_ test: String, defaultSeed: UInt64 = 20_250_101) -> SplitMix64 {
        let chosen = ProcessInfo.processInfo.environment["STRATUS_SEED"].flatMap { UInt64($0) }
        let generator = SplitMix64(seed: chosen ?? defaultSeed)
        print("\(test): STRATUS_SEED=\(generator.seed)")
        return generator
    }

    /// A number in `0..<bound`; 0 when `bound` is not positive. The bias of the remainder is of no account in tests.
    package mutating func below(_ bound: Int) -> Int {
        bound <= 0 ? 0 : Int(next() % UInt64(bound))
    }

    /// Whether a case with the chance 1 in `count` occurs.
    package mutating func isOne(in count: Int) -> Bool {
        below(count) == 0
    }

    /// An element of a collection that is not empty.
    package mutating func element<Element>(of elements: [Element]) -> Element {
        precondition(!elements.isEmpty, "There is nothing to choose from: pass at least one element.")
        return elements[below(elements.count)]
    }

    package mutating func bytes(count: Int) -> [UInt8] {
        (0..<max(0, count)).map { _ in UInt8(truncatingIfNeeded: next()) }
    }

    package mutating func uuid() -> UUID {
        let high = next().bigEndianBytes
        let low = next().bigEndianBytes
        return UUID(
            uuid: (
                high[0], high[1], high[2], high[3], high[4], high[5], high[6], high[7],
                low[0], low[1], low[2], low[3], low[4], low[5], low[6], low[7]
            ))
    }
}

extension UInt64 {
    fileprivate var bigEndianBytes: [UInt8] {
        stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: self >> UInt64($0)) }
    }
}
