// Running operations in a container.

public import Foundation
import StratusCloud

extension CKContainer {
    /// Runs an operation in this container, at once or when what it depends on has finished (O-01).
    /// - Parameter operation: One that was not added before and is in no other queue.
    public func add(_ operation: CKOperation) {
        scope.run(operation)
    }

    /// Runs `body` with a container whose operations inherit a configuration and a group.
    /// - Parameters:
    ///   - configuration: What operations use where they have no value of their own.
    ///   - group: The group of operations that have none.
    ///   - body: What to do with the container.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    @discardableResult
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil,
        body: (CKContainer) throws -> R
    ) rethrows -> R {
        try body(CKContainer(scope.inheriting(configuration, group)))
    }

    /// Runs `body` with a container whose operations inherit a configuration and a group.
    /// - Parameters:
    ///   - configuration: What operations use where they have no value of their own.
    ///   - group: The group of operations that have none.
    ///   - body: What to do with the container.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    @discardableResult
    @preconcurrency
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil,
        body: @Sendable (CKContainer) async throws -> R
    ) async rethrows -> R {
        try await body(CKContainer(scope.inheriting(configuration, group)))
    }
}

extension CKDatabase {
    /// Runs an operation on this database, at once or when what it depends on has finished (O-01).
    /// - Parameter operation: One that was not added before and is in no other queue.
    public func add(_ operation: CKDatabaseOperation) {
        scope.run(operation) { operation.database = self }
    }

    /// Runs `body` with this database, with operations that inherit a configuration and a group.
    /// - Parameters:
    ///   - configuration: What operations use where they have no value of their own.
    ///   - group: The group of operations that have none.
    ///   - body: What to do with the database.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    @discardableResult
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil,
        body: (CKDatabase) throws -> R
    ) rethrows -> R {
        try body(CKDatabase(scope.inheriting(configuration, group), databaseScope))
    }

    /// Runs `body` with this database, with operations that inherit a configuration and a group.
    /// - Parameters:
    ///   - configuration: What operations use where they have no value of their own.
    ///   - group: The group of operations that have none.
    ///   - body: What to do with the database.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    @discardableResult
    @preconcurrency
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil, group: CKOperationGroup? = nil,
        body: @Sendable (CKDatabase) async throws -> R
    ) async rethrows -> R {
        try await body(CKDatabase(scope.inheriting(configuration, group), databaseScope))
    }
}

extension ContainerScope {
    /// The same container with other defaults; what is not given stays as it was.
    func inheriting(_ configuration: CKOperation.Configuration?, _ group: CKOperationGroup?) -> ContainerScope {
        var configured = self
        let outer = defaults as? ConfiguredDefaults
        let copy = configuration.map { CKOperation.Configuration($0.explicit) }
        configured.defaults = ConfiguredDefaults(
            configuration: copy ?? outer?.configuration, group: group ?? outer?.group)
        return configured
    }

    /// Runs an operation on the queue of those that were added. Where it has a place in a queue already, or was started,
    /// it stays as it is.
    func run(_ operation: CKOperation, placing place: () -> Void = {}) {
        let isPlaced = operation.enqueue {
            place()
            operation.place { $0.scope = self }
        }
        guard isPlaced else { return }
        // Foundation's own call: the module's refuses what has its place in a queue.
        added.queue.addOperation(operation as Operation)
        operation.tellWhetherReady()
    }

    /// Starts an operation of a convenience call, which waits for nothing and is urgent for the user (O-11).
    func start(_ operation: CKOperation, isInline: Bool) {
        operation.place {
            $0.scope = self
            $0.qualityOfService = .userInitiated
            $0.isInline = isInline
        }
        operation.start()
    }
}

// Queues of the program's own. Foundation ends the process where an operation is put into a second queue, or into one after
// its start; where Apple's systems raise an exception, a host with many users must go on. So these calls, which
// Swift prefers to Foundation's own for operations of these classes, look first.

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

extension CKOperation {
    /// Where an operation stands that was added to a container or database, or made by a convenience call.
    struct Surroundings {
        /// The container it was added to.
        var scope: ContainerScope?
        /// The quality of service where nothing sets one.
        var qualityOfService = QualityOfService.default
        /// The session that counts the operation as under way.
        var countedBy: CloudSession?
        /// Why nothing is to be sent: the session takes no more requests, or the programmer made a mistake.
        var refusal: CKError?
        /// The mistake of a programmer who added it twice.
        var misuse: String?
        /// Where the operation is held that was found again, so that it is not dropped before it runs (O-14).
        var holder: LongLivedRegistry?
        /// Whether no block of a client's is called, so that a queue for them is not needed.
        var isInline = false

        /// The error that the operation fails with, without anything being sent.
        var whyRefused: CKError? {
            misuse.map { CKError(CloudError(.invalidArguments, text: $0)) } ?? refusal
        }
    }
}
