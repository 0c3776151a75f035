// Refreshing on push in an app delegate: one silent subscription to the whole database, saved once, and a fetch
// whenever a push says that something has changed.

import CloudKit

/// What an app's delegate does for a local copy of the notes.
public final class NotesDelegate: @unchecked Sendable {
    // Unchecked because the journal is touched on `queue`.

    /// The result of a background fetch, like `UIBackgroundFetchResult`.
    public enum FetchResult: Sendable {
        case newData
        case noData
        case failed
    }

    private static let subscriptionID = "private-changes"

    /// The local copy.
    public let notes: SyncedNotes
    private let database: CKDatabase
    private let defaults: UserDefaults
    private let defaultsKey: String
    private let queue = DispatchQueue(label: "journal")
    private var lines: [String] = []

    /// A delegate with a copy in a file, which stores in the user's defaults that it has subscribed.
    public init(file: URL, defaultsKey: String, container: CKContainer = .default()) {
        database = container.privateCloudDatabase
        notes = SyncedNotes(file: file, database: database)
        defaults = .standard
        self.defaultsKey = defaultsKey
    }

    /// What happened, for the log view.
    public var journal: [String] { queue.sync { lines } }

    /// Subscribes, unless an earlier launch has.
    public func didFinishLaunching(completion: @escaping @Sendable (Error?) -> Void) {
        guard !defaults.bool(forKey: defaultsKey) else { return completion(nil) }
        let subscription = CKDatabaseSubscription(subscriptionID: Self.subscriptionID)
        let notificationInfo = CKSubscription.NotificationInfo()
        notificationInfo.shouldSendContentAvailable = true
        subscription.notificationInfo = notificationInfo

        let operation = CKModifySubscriptionsOperation(
            subscriptionsToSave: [subscription], subscriptionIDsToDelete: nil)
        operation.modifySubscriptionsResultBlock = { result in
            switch result {
            case .success:
                self.defaults.set(true, forKey: self.defaultsKey)
                self.log("subscribed")
                completion(nil)
            case .failure(let error):
                completion(error)
            }
        }
        operation.qualityOfService = .utility
        database.add(operation)
    }

    /// Fetches the changes that a push announces.
    public func didReceiveRemoteNotification(
        _ userInfo: [AnyHashable: Any], fetchCompletionHandler: @escaping @Sendable (FetchResult) -> Void
    ) {
        guard let notification = CKNotification(fromRemoteNotificationDictionary: userInfo) else {
            log("not a push of CloudKit's")
            return fetchCompletionHandler(.noData)
        }
        guard notification.notificationType == .database, notification.subscriptionID == Self.subscriptionID else {
            log("a push of \(notification.subscriptionID ?? "nothing")")
            return fetchCompletionHandler(.noData)
        }
        notes.sync { error in
            if let error = error { self.log("failed: \(error.localizedDescription)") } else { self.log("refreshed") }
            fetchCompletionHandler(error == nil ? .newData : .failed)
        }
    }

    private func log(_ line: String) { queue.sync { lines.append(line) } }
}
