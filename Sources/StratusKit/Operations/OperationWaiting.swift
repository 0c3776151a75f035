// How an operation waits for another. Foundation on Linux stores only the address of a waiting operation. If that
// operation is released before its dependency has finished, because it was cancelled or never started, Foundation
// follows the stale address and the process crashes. Foundation also keeps counting a dependency that is removed too
// early. So Foundation never lists an operation of this module as waiting: for each dependency a private
// `DependencyWatch` waits, which removes itself from the list before it is released.

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
        // Another thread may have ended the watch before the dependency was added.
        if lock.withLock({ isEnded }) { removeDependency(dependency) }
    }

    /// Stops waiting. Returns false if the block was called.
    @discardableResult
    func end() -> Bool {
        lock.withLock { isEnded = true }
        let isPending = lock.withLock { onFinish.take() } != nil
        removeDependency(dependency)
        return isPending
    }

    /// Foundation asks the waiting operations whether they are ready when a dependency finishes.
    override var isReady: Bool {
        guard super.isReady else { return false }
        lock.withLock { onFinish.take() }?()
        return true
    }
}

// Whether an operation that waits for others will start.

extension CKOperation {
    /// Whether the operation will start without help: each operation it waits for runs, or was added to a container or
    /// database and will start itself. An operation that was neither added nor started may never start, and operations
    /// that wait for each other never do.
    package var canBegin: Bool {
        // Depth first, with an explicit stack: chains of operations may be long.
        var path: [(operation: CKOperation, remaining: [Operation])] = []
        var onPath: Set<ObjectIdentifier> = []
        var known: Set<ObjectIdentifier> = []
        var next: Operation? = self
        while true {
            if let operation = next, !known.contains(ObjectIdentifier(operation)), !operation.isUnderWay {
                guard let added = operation as? CKOperation, added.isEnqueued, !added.isHeldBack,
                    onPath.insert(ObjectIdentifier(added)).inserted
                else { return false }
                path.append((added, added.isCancelled ? [] : added.dependencies))
            }
            guard var last = path.popLast() else { return true }
            next = last.remaining.popLast()
            if next == nil {
                onPath.remove(ObjectIdentifier(last.operation))
                known.insert(ObjectIdentifier(last.operation))
            } else {
                path.append(last)
            }
        }
    }
}

extension Operation {
    /// Whether the operation has begun. The order matters: a running operation may finish between the two reads.
    fileprivate var isUnderWay: Bool { isExecuting || isFinished }
}
