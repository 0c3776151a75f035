// Calls for shares by their URLs, single and many, with a completion handler and awaited.

public import Foundation

// MARK: Metadata

extension CKContainer {
    /// Fetches the metadata of a share.
    /// - Parameters:
    ///   - url: The share's URL.
    ///   - completionHandler: Gets the metadata, or the error.
    @preconcurrency
    public func fetchShareMetadata(
        with url: URL, completionHandler: @escaping @Sendable (CKShare.Metadata?, (any Error)?) -> Void
    ) {
        scope.begin(fetching([url]) { $0.item(url).call(completionHandler) })
    }

    /// Fetches the metadata of a share.
    /// - Parameter url: The share's URL.
    /// - Returns: The metadata.
    /// - Throws: `CKError`, `unknownItem` if there is no share, or none that the user may know about (M-04, M-05).
    public func shareMetadata(for url: URL) async throws -> CKShare.Metadata {
        try await scope.await { completion in fetching([url]) { completion($0.item(url)) } }
    }

    /// Fetches the metadata of shares.
    /// - Parameters:
    ///   - urls: The shares' URLs.
    ///   - completionHandler: Gets an answer for every URL, or the error of the request.
    @preconcurrency
    public func fetchShareMetadatas(
        for urls: [URL],
        completionHandler: @escaping @Sendable (Result<[URL: Result<CKShare.Metadata, any Error>], any Error>) -> Void
    ) {
        scope.begin(fetching(urls, completionHandler))
    }

    /// Fetches the metadata of shares.
    /// - Parameter urls: The shares' URLs.
    /// - Returns: An answer for every URL.
    /// - Throws: `CKError` when the request as a whole failed: `notAuthenticated` without an account,
    ///   `permissionFailure` if sharing is not allowed (P-19), `limitExceeded` (L-01). An item fails with `unknownItem`
    ///   if the user may not know about the share (M-04, M-05).
    public func shareMetadatas(for urls: [URL]) async throws -> [URL: Result<CKShare.Metadata, any Error>] {
        try await scope.await { fetching(urls, $0) }
    }

    // MARK: Accepting

    /// Accepts a share of this container (M-01).
    /// - Parameters:
    ///   - metadata: The metadata of the share.
    ///   - completionHandler: Gets the share as the user now sees it, or the error.
    @preconcurrency
    public func accept(
        _ metadata: CKShare.Metadata, completionHandler: @escaping @Sendable (CKShare?, (any Error)?) -> Void
    ) {
        scope.begin(accepting([metadata]) { $0.item(metadata).call(completionHandler) })
    }

    /// Accepts a share of this container (M-01).
    /// - Parameter metadata: The metadata of the share.
    /// - Returns: The share as the user now sees it.
    /// - Throws: `CKError`, `badContainer` for a share of another container.
    @discardableResult
    public func accept(_ metadata: CKShare.Metadata) async throws -> CKShare {
        try await scope.await { completion in accepting([metadata]) { completion($0.item(metadata)) } }
    }

    /// Accepts shares of this container (M-01).
    /// - Parameters:
    ///   - metadatas: The metadata of the shares.
    ///   - completionHandler: Gets an answer for every share, or the error of the request.
    @preconcurrency
    public func accept(
        _ metadatas: [CKShare.Metadata],
        completionHandler:
            @escaping @Sendable (Result<[CKShare.Metadata: Result<CKShare, any Error>], any Error>) -> Void
    ) {
        scope.begin(accepting(metadatas, completionHandler))
    }

    /// Accepts shares of this container (M-01).
    /// - Parameter metadatas: The metadata of the shares.
    /// - Returns: An answer for every share.
    /// - Throws: `CKError` when the request as a whole failed: `notAuthenticated` without an account,
    ///   `permissionFailure` if sharing is not allowed (P-19), `limitExceeded` (L-01). An item fails with
    ///   `badContainer` for a share of another container (M-01), `tooManyParticipants` if a public share is full
    ///
    @discardableResult
    public func accept(
        _ metadatas: [CKShare.Metadata]
    ) async throws -> [CKShare.Metadata: Result<CKShare, any Error>] {
        try await scope.await { accepting(metadatas, $0) }
    }

    // MARK: Asking for access

    /// Asks the owners of shares for access (P-20).
    /// - Parameter urls: The shares' URLs.
    /// - Returns: An answer for every URL; success means only that the request was recorded (P-22).
    /// - Throws: `CKError` when the request as a whole failed: `notAuthenticated` without an account,
    ///   `permissionFailure` if sharing is not allowed (P-19), `limitExceeded` (L-01). An item fails with `unknownItem`
    ///   if the share accepts no requests, as if there were no share (P-20).
    public func requestShareAccess(for urls: [URL]) async throws -> [URL: Result<Void, any Error>] {
        try await scope.await { completion in
            let operation = CKShareRequestAccessOperation(shareURLs: urls)
            (operation.perShareAccessRequestResultBlock, operation.shareAccessRequestResultBlock) = gathering(
                completion)
            return operation
        }
    }

    // MARK: The operations behind them

    private func fetching(
        _ urls: [URL], _ completion: @escaping Completion<AnswersByID<URL, CKShare.Metadata>>
    ) -> CKOperation {
        let operation = CKFetchShareMetadataOperation(shareURLs: urls)
        (operation.perShareMetadataResultBlock, operation.fetchShareMetadataResultBlock) = gathering(completion)
        return operation
    }

    private func accepting(
        _ metadatas: [CKShare.Metadata], _ completion: @escaping Completion<AnswersByID<CKShare.Metadata, CKShare>>
    ) -> CKOperation {
        let operation = CKAcceptSharesOperation(shareMetadatas: metadatas)
        (operation.perShareResultBlock, operation.acceptSharesResultBlock) = gathering(completion)
        return operation
    }
}
