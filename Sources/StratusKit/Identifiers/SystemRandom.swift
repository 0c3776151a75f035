// The only place where this package asks the system for random numbers: identities, names, change tags, incarnations,
// secrets. `SystemRandomNumberGenerator` calls getrandom, which needs no descriptor and no /dev, and ends the process
// if the system has no random numbers. So no identity is ever predictable or repeated.

package import Foundation
import StratusModel

extension UUID {
    /// A random UUID from the system. Use it instead of Foundation's `UUID()`, which may be a constant.
    package static func drawn() -> UUID {
        var generator = SystemRandomNumberGenerator()
        return drawn(from: &generator)
    }
}

/// Random numbers from the system.
package enum SystemRandom {
    /// The salt of change tags.
    package static func salt() -> UInt32 {
        var generator = SystemRandomNumberGenerator()
        return generator.next()
    }

    /// Unpredictable bytes.
    package static func bytes(count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in generator.next() }
    }
}

extension CKRecordID {
    /// A name that no other record has.
    @usableFromInline
    static func newRecordName() -> String { UUID.drawn().uuidString }
}
