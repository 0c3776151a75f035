// The server as its clients see it.

/// Answers requests. `CloudService` is the server; a host's socket, a store that could not be opened, and tests put
/// others in its place.
package protocol CloudServer: Sendable {
    /// Answers a request. Blocks its thread until the answer is there.
    ///
    /// Throws `CloudError` if the request fails as a whole.
    func answer<Request: CloudRequest>(
        _ request: Request, as caller: Caller, in place: Request.Place
    ) throws -> Request.Answer

    // Files of assets. They are copied between directories of one machine, and clients keep the copies.

    /// Keeps all contents until the hold is released, so that those that the answer to the next request names can be
    /// copied after it. Nil if there are none.
    func holdAssets() throws -> AssetHold?
    /// Returns the paths of new private copies of contents. The contents are those of an answer, under a hold
    /// from before its request, or, without a hold, contents that records still have. Asks `shouldContinue` before each
    /// copy; if it returns false, the remaining ones fail.
    func copyAssets(
        _ wanted: [HeldAsset], as caller: Caller, in database: DatabaseSelector, under hold: AssetHold?,
        shouldContinue: () -> Bool
    ) throws -> [Result<String, CloudError>]
    /// Returns the path of a new private copy of a content that a field of a record holds.
    func copyAsset(_ wanted: HeldAsset, as caller: Caller, in database: DatabaseSelector) throws -> String
    /// Releases copies whose objects are gone; no client has seen the paths of those that are `unseen`. Must not wait.
    func releaseCopies(_ paths: [String], unseen: [String])
}

extension CloudServer {
    package func answer<Request: CloudRequest>(
        _ request: Request, as caller: Caller
    ) throws -> Request.Answer where Request.Place == NoDatabase {
        try answer(request, as: caller, in: NoDatabase())
    }
}

extension CloudService: CloudServer {
    package func answer<Request: CloudRequest>(
        _ request: Request, as caller: Caller, in place: Request.Place
    ) throws -> Request.Answer {
        try request.answer(in: AnswerContext(service: self, caller: caller, place: place))
    }
}

/// A server that answers every request with one error: a store that could not be opened.
package struct RefusingServer: CloudServer {
    package let error: CloudError

    package init(_ error: CloudError) { self.error = error }

    package func answer<Request: CloudRequest>(
        _ request: Request, as caller: Caller, in place: Request.Place
    ) throws -> Request.Answer { throw error }

    package func holdAssets() throws -> AssetHold? { throw error }

    package func copyAssets(
        _ wanted: [HeldAsset], as caller: Caller, in database: DatabaseSelector, under hold: AssetHold?,
        shouldContinue: () -> Bool
    ) throws -> [Result<String, CloudError>] { throw error }

    package func copyAsset(_ wanted: HeldAsset, as caller: Caller, in database: DatabaseSelector) throws -> String {
        throw error
    }

    package func releaseCopies(_ paths: [String], unseen: [String]) {}
}
