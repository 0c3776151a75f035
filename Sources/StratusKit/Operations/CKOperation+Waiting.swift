// Whether an operation that waits for others will begin.

import Foundation

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
