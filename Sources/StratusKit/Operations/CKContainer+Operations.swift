// Adding operations to containers, databases and queues, and the configuration that they inherit there.

public import Foundation

extension CKContainer {
    /// Runs an operation in this container, at once or when its dependencies have finished (O-01).
    /// - Parameter operation: An operation that is in no queue yet.
    public func add(_ operation: CKOperation) {
        scope.run(operation)
    }

    /// Runs `body` with a container whose operations inherit a configuration and a group.
    /// - Parameters:
    ///   - configuration: Values for operations that set none of their own.
    ///   - group: The group for operations that have none.
    ///   - body: Gets the container.
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
    ///   - configuration: Values for operations that set none of their own.
    ///   - group: The group for operations that have none.
    ///   - body: Gets the container.
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
    /// Runs an operation on this database, at once or when its dependencies have finished (O-01).
    /// - Parameter operation: An operation that is in no queue yet.
    public func add(_ operation: CKDatabaseOperation) {
        scope.run(operation) { operation.database = self }
    }

    /// Runs `body` with this database, with operations that inherit a configuration and a group.
    /// - Parameters:
    ///   - configuration: Values for operations that set none of their own.
    ///   - group: The group for operations that have none.
    ///   - body: Gets the database.
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
    ///   - configuration: Values for operations that set none of their own.
    ///   - group: The group for operations that have none.
    ///   - body: Gets the database.
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
    /// The same container with other defaults; nil keeps the current value.
    func inheriting(_ configuration: CKOperation.Configuration?, _ group: CKOperationGroup?) -> ContainerScope {
        var configured = self
        let outer = defaults as? ConfiguredDefaults
        let copy = configuration.map { CKOperation.Configuration($0.explicit) }
        configured.defaults = ConfiguredDefaults(
            configuration: copy ?? outer?.configuration, group: group ?? outer?.group)
        return configured
    }

    /// Runs an operation on the container's queue. An operation that is in a queue already, or was started, stays as it
    /// is.
    func run(_ operation: CKOperation, placing place: () -> Void = {}) {
        guard operation.enterQueue(.enqueued) else { return }
        place()
        operation.place { $0.scope = self }
        operation.count(waiting: operation)
        let queue = added.made {
            let queue = OperationQueue()
            queue.name = "StratusKit.operations"
            return queue
        }
        // Foundation's method, by the type: the module's own would refuse an operation that has entered a queue.
        queue.addOperation(operation as Operation)
        operation.reportReadiness()
    }

    /// Starts the operation of a convenience call, which has no dependencies and is urgent for the user (O-11).
    func start(_ operation: CKOperation, isInline: Bool) {
        operation.place {
            $0.scope = self
            $0.qualityOfService = .userInitiated
            $0.isInline = isInline
        }
        operation.start()
    }
}

// Queues of the program's own. Foundation ends the process if an operation is added to a second queue, or after its
// start. Apple's systems raise an exception; a host with many users must continue. These methods, which Swift
// prefers to Foundation's for operations of these classes, check first.

extension OperationQueue {
    /// Adds an operation to a queue of the program's own (O-01). Set its database before.
    ///
    /// An operation that is in a queue already, or was started, stays where it is. If it has not started yet, the
    /// mistake fails it with `invalidArguments`.
    /// - Parameter op: An operation that is in no queue yet.
    public func addOperation(_ op: CKOperation) {
        guard op.enterQueue(.enteredOwnQueue) else { return }
        addOperation(op as Operation)
        op.reportReadiness()
    }

    /// Adds operations to a queue of the program's own (O-01). Set their databases before.
    ///
    /// Operations that are in a queue already, or were started, stay where they are and are not waited for. If they
    /// have not started yet, the mistake fails them with `invalidArguments`.
    /// - Parameters:
    ///   - ops: Operations that are in no queue yet.
    ///   - wait: Whether to return when they have finished.
    public func addOperations(_ ops: [CKOperation], waitUntilFinished wait: Bool) {
        let entering = ops.filter { $0.enterQueue(.enteredOwnQueue) }
        addOperations(entering as [Operation], waitUntilFinished: false)
        for operation in entering {
            operation.reportReadiness()
            if wait { operation.waitUntilFinished() }
        }
    }
}

extension Operation {
    /// Reports the readiness again. Call it after the operation was put into a queue: Foundation misses an operation
    /// that becomes ready meanwhile.
    final func reportReadiness() { didChangeValue(for: \.isReady) }

    /// Whether Foundation has, or had, the operation in a queue. Foundation has no method for this, so a mirror reads
    /// its variable. If a later version lacks the variable, the answer is false.
    final var isKnownToQueue: Bool {
        var mirror: Mirror? = Mirror(reflecting: self)
        while let class_ = mirror, class_.subjectType != Operation.self { mirror = class_.superclassMirror }
        guard let state = mirror?.descendant("__state") else { return false }
        return "\(state)" != "initialized"
    }
}
