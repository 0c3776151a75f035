// Queues of the program's own. Foundation ends the process where an operation is put into a second queue, or into one after
// its start; where Apple's systems raise an exception, a host with many users must go on. So these calls, which
// Swift prefers to Foundation's own for operations of these classes, look first.

public import Foundation

extension OperationQueue {
    /// Adds an operation to a queue of the program's own (O-01). Set its database before.
    ///
    /// One that is in a queue already, or was started, stays where it is; where it has not started yet, the mistake fails
    /// it with `invalidArguments`.
    /// - Parameter op: One that was not added before and is in no other queue.
    public func addOperation(_ op: CKOperation) {
        guard op.enterOwnQueue() else { return }
        addOperation(op as Operation)
        op.tellWhetherReady()
    }

    /// Adds operations to a queue of the program's own (O-01). Set their databases before.
    ///
    /// Those that are in a queue already, or were started, stay where they are and are not waited for; where they have not
    /// started yet, the mistake fails them with `invalidArguments`.
    /// - Parameters:
    ///   - ops: Ones that were not added before and are in no other queue.
    ///   - wait: Whether to return when they have finished.
    public func addOperations(_ ops: [CKOperation], waitUntilFinished wait: Bool) {
        let entering = ops.filter { $0.enterOwnQueue() }
        addOperations(entering as [Operation], waitUntilFinished: false)
        for operation in entering {
            operation.tellWhetherReady()
            if wait { operation.waitUntilFinished() }
        }
    }
}

extension Operation {
    /// To be called when the operation has been put into a queue: one that becomes ready in the middle of that is passed
    /// over by Foundation until it is told of it again.
    final func tellWhetherReady() { didChangeValue(for: \.isReady) }

    /// Whether Foundation has the operation in a queue, or had. No call of Foundation's tells: its own variable is looked
    /// at as a debugger does, and where a version to come has it not, the answer is no.
    final var isKnownToQueue: Bool {
        var mirror: Mirror? = Mirror(reflecting: self)
        while let class_ = mirror, class_.subjectType != Operation.self { mirror = class_.superclassMirror }
        guard let state = mirror?.descendant("__state") else { return false }
        return "\(state)" != "initialized"
    }
}
