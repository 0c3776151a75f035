// The only place where this package asks the system for random numbers: identities, names, change tags, incarnations,
// secrets; and the seed that takes its place in tests. `SystemRandomNumberGenerator` calls getrandom, which needs no
// descriptor and no /dev, and ends the process if the system has no random numbers. So no identity is ever predictable
// or repeated.

package import Foundation
import StratusCloud
import StratusModel
import StratusStore

extension UUID {
    /// A random UUID from the system. Use it instead of Foundation's `UUID()`, which may be a constant.
    package static func drawn() -> UUID {
        var generator = SystemRandomNumberGenerator()
        return drawn(from: &generator)
    }
}

/// Random bits from the system, for what needs no identifier.
enum SystemRandom {
    @Sendable static func bits() -> UInt64 {
        var generator = SystemRandomNumberGenerator()
        return generator.next()
    }
}

extension CKRecordID {
    /// A name that no other record has.
    @usableFromInline
    static func newRecordName() -> String { UUID.drawn().uuidString }
}

/// Unpredictable identifiers.
package struct RandomIdentifiers: IdentifierSource {
    package init() {}

    package func makeUUID() -> UUID { .drawn() }

    package func makeSalt() -> UInt32 {
        var generator = SystemRandomNumberGenerator()
        return generator.next()
    }

    package func makeSecret(byteCount: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<byteCount).map { _ in generator.next() }
    }
}

/// Identifiers that a seed determines, in the order they are drawn.
final class SeededIdentifiers: IdentifierSource {
    private let state: Locked<SplitMix64>

    init(seed: UInt64) { state = Locked(SplitMix64(state: seed)) }

    func makeUUID() -> UUID { state.withLock { UUID.drawn(from: &$0) } }

    func makeSalt() -> UInt32 { UInt32(truncatingIfNeeded: state.withLock { $0.next() }) }

    func makeSecret(byteCount: Int) -> [UInt8] {
        state.withLock { generator in
            var bytes: [UInt8] = []
            while bytes.count < byteCount {
                let number = generator.next()
                bytes += (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
            }
            return Array(bytes.prefix(byteCount))
        }
    }

    /// A generator whose state is a counter, so that it never gives the same number twice.
    private struct SplitMix64: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var number = state
            number = (number ^ (number >> 30)) &* 0xBF58_476D_1CE4_E5B9
            number = (number ^ (number >> 27)) &* 0x94D0_49BB_1331_11EB
            return number ^ (number >> 31)
        }
    }
}
