// What becomes of a programmer's mistake that raises an exception on Apple's systems.

import Foundation
import Synchronization

/// How mistakes are met that raise an exception on Apple's systems: a key with wrong characters, a value of a type that
/// no record can hold, a parent reference with an action.
///
/// A host serves many users, and one client's mistake must not end it. So the mistake is remembered on the object, the
/// call has no other effect, and saving the object fails with `CKError.invalidArguments` and the text of the mistake.
public enum StratusMisuse {
    private static let isTrapping = Atomic<Bool>(false)

    /// Whether a mistake ends the process at once, as on Apple's systems, which shows where it was made. For
    /// development; false unless set.
    public static var trapsAtOnce: Bool {
        get { isTrapping.load(ordering: .relaxed) }
        set { isTrapping.store(newValue, ordering: .relaxed) }
    }

    /// Notes a mistake: keeps the first one, or ends the process where that is asked for.
    static func note(_ text: @autoclosure () -> String, in memory: inout String?) {
        let text = text()
        precondition(!trapsAtOnce, text)
        if memory == nil { memory = text }
    }
}
