// How an operation waits for another. Foundation on Linux remembers who waits for an operation by address alone: one that
// is let go of before what it waits for has finished, because it was cancelled or never started, leaves its address behind,
// and the process ends when Foundation follows it. It also goes on counting a dependency that is taken away too early. So
// an operation of ours is on no list of Foundation's: for each dependency a small one waits that nobody else can reach,
// and that is taken off the list before it goes.

import Foundation

/// Waits for one operation on behalf of another.
final class DependencyWatch: Operation, @unchecked Sendable {  // because the lock guards all that changes
    let dependency: Operation
    private let lock = NSLock()
    private var onFinish: (@Sendable () -> Void)?
    private var isEnded = false

    /// The block is called once: when the dependency finishes, or in `begin` if it has.
    init(_ dependency: Operation, onFinish: @escaping @Sendable () -> Void) {
        self.dependency = dependency
        self.onFinish = onFinish
    }

    func begin() {
        addDependency(dependency)
        // Who ended it meanwhile, on another thread, may have taken it off before it was on.
        if lock.withLock({ isEnded }) { removeDependency(dependency) }
    }

    /// Stops waiting. False where the block has been called.
    @discardableResult
    func end() -> Bool {
        let isPending = lock.withLock {
            isEnded = true
            defer { onFinish = nil }
            return onFinish != nil
        }
        removeDependency(dependency)
        return isPending
    }

    /// Foundation tells of the end of a dependency by asking who waited for it whether they are ready.
    override var isReady: Bool {
        guard super.isReady else { return false }
        takeBlock()?()
        return true
    }

    private func takeBlock() -> (@Sendable () -> Void)? {
        lock.withLock {
            defer { onFinish = nil }
            return onFinish
        }
    }
}
