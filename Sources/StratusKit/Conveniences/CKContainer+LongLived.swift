// Finding long-lived operations again (O-14).

import StratusCloud

extension CKContainer {
    /// The identifiers of the long-lived operations that have not called their last block.
    /// - Parameter completionHandler: Given the identifiers, or an error.
    @preconcurrency
    public func fetchAllLongLivedOperationIDs(
        completionHandler: @escaping @Sendable ([CKOperation.ID]?, (any Error)?) -> Void
    ) {
        scope.ask(longLivedIDs) { $0.call(completionHandler) }
    }

    /// The identifiers of the long-lived operations that have not called their last block.
    /// - Throws: `CKError` where the directory of what was kept cannot be read (O-14).
    public func allLongLivedOperationIDs() async throws -> [CKOperation.ID] {
        try await scope.ask(longLivedIDs)
    }

    /// A long-lived operation that has not called its last block. Its blocks are to be set anew; added to the container
    /// it calls them all, and its request is not sent a second time.
    /// - Parameters:
    ///   - operationID: The operation's identifier.
    ///   - completionHandler: Given the operation, nil where there is none any longer, or an error.
    @preconcurrency
    public func fetchLongLivedOperation(
        withID operationID: CKOperation.ID,
        completionHandler: @escaping @Sendable (CKOperation?, (any Error)?) -> Void
    ) {
        scope.ask(longLived(operationID)) { result in
            switch result {
            case .success(let operation): completionHandler(operation, nil)
            case .failure(let error): completionHandler(nil, error)
            }
        }
    }

    /// A long-lived operation that has not called its last block. Its blocks are to be set anew; added to the container
    /// it calls them all, and its request is not sent a second time.
    /// - Parameter operationID: The operation's identifier.
    /// - Returns: The operation; nil where there is none any longer.
    /// - Throws: `CKError`: `internalError` where what was kept of it is damaged (O-14).
    public func longLivedOperation(for operationID: CKOperation.ID) async throws -> CKOperation? {
        try await scope.ask(longLived(operationID))
    }

    private typealias Question<Value> = @Sendable (any CloudServer, Caller) throws -> Value

    private var longLivedIDs: Question<[CKOperation.ID]> {
        let registry = scope.session.longLived
        return { _, caller in try registry.entries(of: caller).map(\.id).sorted() }
    }

    private func longLived(_ id: CKOperation.ID) -> Question<CKOperation?> {
        let (scope, registry) = (scope, scope.session.longLived)
        return { _, caller in
            try registry.found(id, of: caller) { try LongLivedRun.operation($0, in: scope) }
        }
    }
}
