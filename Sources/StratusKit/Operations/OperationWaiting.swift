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

// Whether an operation that waits for others will begin.

extension CKOperation {
    /// Whether the operation will start without anybody's doing: each operation it waits for runs, or was added to a
    /// container or database and will start itself. One that was neither added nor started may never be, and operations
    /// that wait for each other never start.
    package var canBegin: Bool {
        // Depth first, on a list of our own: chains of operations may be long.
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
    /// Whether the operation has begun. In this order, because one that runs may finish between the questions.
    fileprivate var isUnderWay: Bool { isExecuting || isFinished }
}
