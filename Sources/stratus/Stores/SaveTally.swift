// How many records were saved, counted by the blocks that CloudKit calls for every one of them.

import Synchronization

/// Counts on the threads of operations, for the one that shows progress.
final class SaveTally: Sendable {
    struct Counts {
        /// Records that were sent and answered, whatever came of them.
        var sent = 0
        var created = 0
        var changed = 0
    }

    private struct State {
        var counts = Counts()
        /// Names under which there was no record.
        var newNames: Set<String> = []
    }

    private let state = Mutex(State())

    var counts: Counts { state.withLock { $0.counts } }

    /// Says that a record that is to be saved will be a new one.
    func expectNew(_ name: String) {
        state.withLock { _ = $0.newNames.insert(name) }
    }

    func noteSent() { state.withLock { $0.counts.sent += 1 } }

    func noteSaved(_ name: String) {
        state.withLock { state in
            if state.newNames.remove(name) == nil { state.counts.changed += 1 } else { state.counts.created += 1 }
        }
    }
}
