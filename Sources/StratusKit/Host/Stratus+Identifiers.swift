// Where a store's identities, salts and secrets come from: the system's generator, or a seed.

import Foundation
import StratusCloud
import StratusModel
import StratusStore

extension Stratus {
    /// Where a store draws its identifiers from: the identities of zones and accounts, change tags, secret URLs.
    public enum Identifiers: Hashable, Sendable {
        /// The system's generator: nobody can guess them.
        case random
        /// A sequence that the seed decides: **for tests only**, because who knows the seed knows every secret.
        case seeded(UInt64)
    }
}

/// Identifiers that nobody can guess.
struct RandomIdentifiers: IdentifierSource {
    func makeUUID() -> UUID { .drawn() }

    func makeSalt() -> UInt32 { SystemRandom.salt() }

    func makeSecret(byteCount: Int) -> [UInt8] { SystemRandom.bytes(count: byteCount) }
}

/// Identifiers that a seed decides, in the order they are drawn.
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
                for shift in stride(from: 0, to: 64, by: 8) where bytes.count < byteCount {
                    bytes.append(UInt8(truncatingIfNeeded: number >> shift))
                }
            }
            return bytes
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

extension Stratus.Identifiers {
    func makeSource() -> any IdentifierSource {
        switch self {
        case .random: RandomIdentifiers()
        case .seeded(let seed): SeededIdentifiers(seed: seed)
        }
    }
}
