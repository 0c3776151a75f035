// A fault of a workload that is not the store's to report: a wrong answer.

import Synchronization

/// An answer that is not as it should be.
package struct WorkloadError: Error, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
}

/// The first error of several threads.
package final class SharedFailure: Sendable {
    private let failure = Mutex<(any Error)?>(nil)

    package init() {}

    package func note(_ error: any Error) {
        failure.withLock { $0 = $0 ?? error }
    }

    package func check() throws {
        if let error = failure.withLock({ $0 }) { throw error }
    }
}
