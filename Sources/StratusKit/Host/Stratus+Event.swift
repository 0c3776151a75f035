// What a host can watch: one event for every request that was answered, and for what has failed unasked.

public import Foundation
import StratusCloud
import StratusModel

extension Stratus {
    /// A request that has been answered, with what it cost.
    ///
    /// An operation of a client is one request, and so is each of the convenience calls; one that is answered in pages is
    /// a request for each page. Where notifications cannot be handed on there is an event of
    /// ``Operation/deliverNotifications``, with its error and nothing else: what waits is safe, and is tried again. Where
    /// the content of an asset is missing, damaged or unreadable there is an event of ``Operation/fetchAssets`` each time
    /// it is asked for, with an error that names the file: restore that file from a backup.
    public struct Event: Sendable {
        /// What was asked for.
        public let operation: Operation
        /// The identifier of the container; empty for what concerns the store as a whole.
        public let containerIdentifier: String
        /// ``Account/id`` of who asked; nil when nobody was signed in.
        public let accountID: String?
        /// Records or zones that were asked for.
        public let itemCount: Int
        /// Those of them that failed.
        public let failedItemCount: Int
        /// Those of them that failed because the server's record was newer (`serverRecordChanged`).
        public let conflictCount: Int
        /// Commits that were made: one for each zone at most.
        public let commitCount: Int
        /// From the beginning of the work to its end, in seconds.
        public let durationSeconds: TimeInterval
        /// The error of the request as a whole; nil also where items failed.
        public let errorCode: CKError.Code?
        /// The description of that error, with its variables.
        public let errorDescription: String?

        init(_ event: CloudEvent) {
            operation = Operation(event.kind)
            containerIdentifier = event.caller.container.text
            accountID = event.caller.account?.text
            itemCount = event.itemCount
            failedItemCount = event.failedItemCount
            conflictCount = event.conflictCount
            commitCount = event.commitCount
            durationSeconds = event.durationSeconds
            errorCode = event.error.flatMap { CKError.Code(rawValue: $0.code.rawValue) }
            errorDescription = event.error.map(\.description)
        }
    }
}
