// Where a store's identities, salts and secrets come from: the system's generator, or a seed.

import Foundation
import StratusCloud
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
    func makeUUID() -> UUID { UUID() }

    func makeSalt() -> UInt32 { .random(in: 0 ... .max) }

    func makeSecret(byteCount: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<byteCount).map { _ in .random(in: 0 ... .max, using: &generator) }
    }
}

/// Identifiers that a seed decides, in the order they are drawn.
///
/// The generator is SplitMix64: its state is a counter, so two drawers never get the same number.
final class SeededIdentifiers: IdentifierSource {
    private let state: Locked<UInt64>

    init(seed: UInt64) { state = Locked(seed) }

    func makeUUID() -> UUID {
        let bytes = self.bytes(count: 16)
        // The version and variant bits of a random UUID.
        return UUID(
            uuid: (
                bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6] & 0x0F | 0x40, bytes[7],
                bytes[8] & 0x3F | 0x80, bytes[9], bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]
            ))
    }

    func makeSalt() -> UInt32 { UInt32(truncatingIfNeeded: next()) }

    func makeSecret(byteCount: Int) -> [UInt8] { bytes(count: byteCount) }

    private func bytes(count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            var number = next()
            for _ in 0..<8 where bytes.count < count {
                bytes.append(UInt8(truncatingIfNeeded: number))
                number >>= 8
            }
        }
        return bytes
    }

    private func next() -> UInt64 {
        var number = state.withLock { state in
            state &+= 0x9E37_79B9_7F4A_7C15
            return state
        }
        number = (number ^ (number >> 30)) &* 0xBF58_476D_1CE4_E5B9
        number = (number ^ (number >> 27)) &* 0x94D0_49BB_1331_11EB
        return number ^ (number >> 31)
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
