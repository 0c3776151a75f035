// Errors of the floors below, as what a client is told. The cause always travels along, so that a host's log shows it.

package import StratusRecords

extension CloudError {
    /// For a new identity, name or secret under which something lies already: nothing is written over it.
    static let repeatedIdentity = CloudError(
        .internalError,
        "An identity, user name or secret exists already, so nothing was created: try again, and verify the store.")

    /// How long a client should wait where the store was only busy (Z-09).
    private static let busyRetrySeconds = 1.0
    /// How long a client should wait while indexes are rebuilt: some 20,000 records are in a second.
    private static let rebuildRetrySeconds = 5.0
    /// How long a client should wait where a write has failed: somebody fixes the cause, and the store is opened again.
    private static let recoveryRetrySeconds = 5.0

    /// A store's or the record layer's error as an answer to the client.
    ///
    /// A commit of unknown outcome is `serverResponseLost` (S-21), a store that takes no requests `serviceUnavailable`,
    /// with a time to retry after where it may take them again without being closed (L-16), a transaction over the store's limit
    /// `limitExceeded`, damage `internalError`.
    package init(_ error: RecordsError) {
        let cause = "\(error)"
        switch error.code.description {
        case "commitUnknown":
            self.init(
                .serverResponseLost, "The write may have happened or not: fetch, then decide whether to save again.",
                cause: cause)
        case "conflict":
            self.init(
                .zoneBusy, "Others are writing to the same data: try again later.", cause: cause,
                retryAfterSeconds: Self.busyRetrySeconds)
        case "rebuilding":
            self.init(
                .serviceUnavailable, "The host rebuilds indexes: try again when that is done.", cause: cause,
                retryAfterSeconds: Self.rebuildRetrySeconds)
        case "reopening":
            self.init(
                .serviceUnavailable, "The store is being opened again after a failed write: try again.", cause: cause,
                retryAfterSeconds: Self.busyRetrySeconds)
        case "unavailable":
            self.init(
                .serviceUnavailable, "The store takes no requests now: try again when the host has recovered it.",
                cause: cause, retryAfterSeconds: Self.recoveryRetrySeconds)
        case "diskFull":
            self.init(
                .serviceUnavailable, "The disk of the store is full: the host has to make room.", cause: cause)
        case "held", "closed", "notPermitted", "inputOutput", "olderFormat":
            self.init(
                .serviceUnavailable, "The store takes no requests now: the host has to look into the cause.",
                cause: cause)
        case "tooLarge":
            self.init(
                .limitExceeded, inner: InnerCode.limit,
                "The request is larger than one transaction may be: split it.", error.fields, cause: cause)
        case "hierarchyTooDeep":
            self.init(
                .limitExceeded, inner: InnerCode.limit,
                "A record lies deeper in its hierarchy than the limit: move it up.", error.fields, cause: cause)
        case "unknownZone":
            self.init(.zoneNotFound, inner: InnerCode.zoneNotFound, "Zone does not exist", error.fields, cause: cause)
        case "unknownRecord":
            self.init(.unknownItem, inner: InnerCode.unknownItem, "Record not found", error.fields, cause: cause)
        case "invalidRequest":
            self.init(.invalidArguments, text: error.message, error.fields, cause: cause)
        case "expired":
            self.init(
                .changeTokenExpired, inner: InnerCode.tokenExpired, "client knowledge differs from server knowledge",
                error.fields, cause: cause)
        default:
            self.init(.internalError, "The store is damaged or of another format: the host has to look.", cause: cause)
        }
    }

    /// Any error of the floors below; one that is a `CloudError` already stays as it is.
    package init(answering error: any Error) {
        switch error {
        case let error as CloudError: self = error
        case let error as RecordsError: self.init(error)
        default: self.init(.internalError, "The server met an error it does not know.", cause: "\(error)")
        }
    }

    /// The server's own, finer numbers, as seen in log lines.
    package enum InnerCode {
        package static let unknownItem = 2003
        package static let conflict = 2004
        package static let schema = 2006
        package static let permission = 2007
        package static let limit = 2023
        package static let batch = 2024
        package static let tokenExpired = 2026
        package static let defaultZoneSync = 2027
        package static let duplicateSubscription = 2032
        package static let zoneNotFound = 2036
    }
}
