// Planned errors, for testing programs that must survive them.
//
// The server asks the plan at every point of a request at which an error can occur, in order: before the work, and once
// after the commit, when only the answer can be lost. The first matching fault counts down by one.

public import Foundation
package import StratusCloud
import StratusModel
import StratusStore
import Synchronization

extension Stratus {
    /// A kind of request, for planning faults and distinguishing events. Later versions may add more.
    public struct Operation: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The kind's name.
        public let rawValue: String

        /// The kind with that name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The kind's name.
        public var description: String { rawValue }

        /// Saving and deleting records.
        public static let modifyRecords = Operation(.modifyRecords)
        /// Fetching records by their IDs.
        public static let fetchRecords = Operation(.fetchRecords)
        /// Fetching the files of the assets in an answer, if it has any.
        public static let fetchAssets = Operation(.fetchAssets)
        /// Saving and deleting zones.
        public static let modifyZones = Operation(.modifyZones)
        /// Fetching zones.
        public static let fetchZones = Operation(.fetchZones)
        /// Fetching a page of the changed zones of a database.
        public static let fetchDatabaseChanges = Operation(.fetchDatabaseChanges)
        /// Fetching a page of the changes in a zone.
        public static let fetchZoneChanges = Operation(.fetchZoneChanges)
        /// Fetching a page of a query's results.
        public static let query = Operation(.query)
        /// Saving and deleting subscriptions.
        public static let modifySubscriptions = Operation(.modifySubscriptions)
        /// Fetching subscriptions.
        public static let fetchSubscriptions = Operation(.fetchSubscriptions)
        /// Fetching the notifications that wait for a device.
        public static let fetchNotificationChanges = Operation(.fetchNotificationChanges)
        /// Marking notifications as read.
        public static let markNotificationsRead = Operation(.markNotificationsRead)
        /// Setting the number on an app's icon.
        public static let modifyBadge = Operation(.modifyBadge)
        /// Fetching a web token.
        public static let fetchWebAuthToken = Operation(.fetchWebAuthToken)
        /// Asking for the account's status.
        public static let accountStatus = Operation(.accountStatus)
        /// Asking for the user's record ID.
        public static let userRecord = Operation(.userRecord)
        /// Looking people up.
        public static let discoverUsers = Operation(.discoverUsers)
        /// Looking up people to add to a share.
        public static let shareParticipants = Operation(.shareParticipants)
        /// Fetching the metadata of shares by their URLs.
        public static let shareMetadata = Operation(.shareMetadata)
        /// Accepting shares by their URLs.
        public static let acceptShares = Operation(.acceptShares)
        /// Requesting access to shares from their owners.
        public static let requestShareAccess = Operation(.requestShareAccess)
        /// Delivering notifications. This is not a client's request: a fault planned for it never occurs, and a
        /// ``Stratus/Event`` reports only failures.
        public static let deliverNotifications = Operation(.deliverNotifications)

        /// Opening the store. This is not a client's request: a fault planned for it never occurs. A ``Stratus/Event``
        /// reports what the host must know: that the last commit, which was never acknowledged, was dropped because a
        /// crash destroyed part of it; or that the system has no `/proc`, so the directory is reached by its path.
        public static let openStore = Operation(.openStore)

        /// Reopening the store after a failed write. This is not a client's request: a fault planned for it never
        /// occurs. A ``Stratus/Event`` with an error reports that the store takes no writes, or why it could not be
        /// reopened; an event without an error reports that it takes writes again. See `Stratus.recover()`.
        public static let recoverStore = Operation(.recoverStore)
        /// A query or a subscription names a field that no record has had, of a type whose schema was not imported.
        /// This is not a request, and no fault is planned for it. The event has the type and the field, once each
        ///
        public static let queryUnknownField = Operation(.queryUnknownField)

        init(_ kind: RequestKind) { rawValue = kind.rawValue }
    }

    /// The errors that a store will answer with. Each store has its own plan in ``Stratus/faults``.
    ///
    /// ```swift
    /// store.faults.fail(.record(noteID), with: .quotaExceeded)                                  // once
    /// store.faults.fail(.zone(zoneID), with: .zoneBusy, retryAfter: 3, lasting: .times(2))
    /// store.faults.fail(.everything, with: .requestRateLimited, retryAfter: 30, lasting: .seconds(30))
    /// store.faults.loseAnswers(of: .modifyRecords)                                              // written, but no
    /// answer
    /// ```
    ///
    /// Faults are checked in the order in which they were planned, and each error counts one down. A fault for a record
    /// or a zone is an error of that item, and of its zone if the request is atomic. Other faults fail the whole
    /// request.
    public final class FaultPlan: Sendable {
        /// What a fault applies to.
        public enum Target: Hashable, Sendable {
            /// One record, in every request that names it. The zone owner `CKCurrentUserDefaultName` matches any owner.
            case record(CKRecord.ID)
            /// One zone, and all records of the request in it. The zone owner `CKCurrentUserDefaultName` matches any
            /// owner.
            case zone(CKRecordZone.ID)
            /// Every request of this kind.
            case operation(Operation)
            /// Every request of this account.
            case account(Account)
            /// Every request.
            case everything

            fileprivate func fits(_ point: FaultPoint, _ kind: RequestKind, _ caller: Caller) -> Bool {
                switch (self, point) {
                case (.record(let id), .record(let address, _, _)):
                    return id.recordName == address.recordName && id.zoneID.stands(for: address.zone)
                case (.zone(let id), .zone(let address, _, _)):
                    return id.stands(for: address)
                case (.operation(let operation), .request):
                    return operation.rawValue == kind.rawValue
                case (.account(let account), .request):
                    return account.accountID == caller.account
                case (.everything, .request):
                    return true
                default:
                    return false
                }
            }
        }

        /// How long a fault lasts.
        public enum Lasting: Hashable, Sendable {
            /// For this number of errors.
            case times(Int)
            /// For this number of seconds of the store's monotonic clock, from now on.
            case seconds(Double)
            /// Until ``Fault/cancel()`` or ``FaultPlan/removeAll()``.
            case untilCancelled
        }

        /// One planned fault.
        public final class Fault: Sendable {
            private weak let plan: FaultPlan?
            fileprivate let hits = Atomic(0)

            init(plan: FaultPlan) { self.plan = plan }

            /// How often it has occurred.
            public var hitCount: Int { hits.load(ordering: .relaxed) }

            /// Removes it from the plan. Cancelling again does nothing.
            public func cancel() { plan?.rules.withLock { $0.removeAll { $0.fault === self } } }
        }

        let clock: any CloudClock
        let rules = Locked<[Rule]>([])
        /// Lets callers check an empty plan without a lock.
        private let hasRules = Atomic(false)

        init(clock: any CloudClock) { self.clock = clock }

        /// Plans an error.
        ///
        /// - Parameters:
        ///   - target: What fails.
        ///   - code: The error's code.
        ///   - retryAfter: How many seconds the client should wait (`CKErrorRetryAfterKey`).
        ///   - message: The error's description.
        ///   - operation: Only requests of this kind; nil for all.
        ///   - account: Only requests of this account; nil for all.
        ///   - lasting: How long the fault lasts. Default: one error.
        /// - Returns: The fault, which counts the errors and can be cancelled.
        @discardableResult
        public func fail(
            _ target: Target, with code: CKError.Code, retryAfter: TimeInterval? = nil,
            message: String = "A planned fault.", during operation: Operation? = nil, for account: Account? = nil,
            lasting: Lasting = .times(1)
        ) -> Fault {
            let error = CloudError(
                CloudError.Code(rawValue: code.rawValue), text: message, retryAfterSeconds: retryAfter)
            return add(target, error, operation, account, lasting)
        }

        /// Plans lost answers: the request is applied and durable, but the client gets `serverResponseLost` (S-21).
        ///
        /// - Parameters:
        ///   - operation: The kind of request; nil for all.
        ///   - account: Only requests of this account; nil for all.
        ///   - lasting: How long the fault lasts. Default: one answer.
        /// - Returns: The fault, which counts the lost answers and can be cancelled.
        @discardableResult
        public func loseAnswers(
            of operation: Operation? = nil, for account: Account? = nil, lasting: Lasting = .times(1)
        ) -> Fault {
            let error = CloudError(
                .serverResponseLost, "The answer was lost: fetch what you changed, then decide whether to do it again.")
            return add(nil, error, operation, account, lasting)
        }

        /// Removes all faults from the plan.
        public func removeAll() {
            rules.withLock { rules in
                rules = []
                hasRules.store(false, ordering: .releasing)
            }
        }

        /// How many faults can still occur.
        public var count: Int {
            let uptime = clock.uptimeSeconds
            return rules.withLock { rules in rules.count { $0.isLive(uptime: uptime) } }
        }
    }
}

// Which planned fault, if any, occurs at a point of a request.

extension Stratus.FaultPlan: FaultSource {
    /// What one fault fails with, when, and how often it still may.
    struct Rule: Sendable {
        let fault: Fault
        /// Nil for the answers of requests.
        let target: Target?
        let operation: Stratus.Operation?
        let account: AccountID?
        let error: CloudError
        var remainingCount: Int?
        var endUptimeSeconds: Double?

        func isLive(uptime: Double) -> Bool {
            remainingCount.map { $0 > 0 } ?? true && endUptimeSeconds.map { uptime < $0 } ?? true
        }

        func fits(_ point: FaultPoint) -> Bool {
            let (kind, caller) = point.request
            if let operation, operation.rawValue != kind.rawValue { return false }
            if let account, account != caller.account { return false }
            if let target { return target.fits(point, kind, caller) }
            return if case .response = point { true } else { false }
        }
    }

    private func add(
        _ target: Target?, _ error: CloudError, _ operation: Stratus.Operation?, _ account: Stratus.Account?,
        _ lasting: Lasting
    ) -> Fault {
        let fault = Fault(plan: self)
        var rule = Rule(fault: fault, target: target, operation: operation, account: account?.accountID, error: error)
        switch lasting {
        case .times(let count): rule.remainingCount = count
        case .seconds(let seconds): rule.endUptimeSeconds = clock.uptimeSeconds + seconds
        case .untilCancelled: break
        }
        rules.withLock { [rule] rules in
            rules.append(rule)
            hasRules.store(true, ordering: .releasing)
        }
        return fault
    }

    package var isPlanned: Bool { hasRules.load(ordering: .acquiring) }

    package func error(at point: FaultPoint) -> CloudError? {
        guard isPlanned else { return nil }
        let uptime = clock.uptimeSeconds
        return rules.withLock { rules in
            rules.removeAll { !$0.isLive(uptime: uptime) }
            guard let index = rules.firstIndex(where: { $0.fits(point) }) else { return nil }
            rules[index].fault.hits.add(1, ordering: .relaxed)
            if let count = rules[index].remainingCount { rules[index].remainingCount = count - 1 }
            return rules[index].error
        }
    }
}

extension FaultPoint {
    fileprivate var request: (kind: RequestKind, caller: Caller) {
        switch self {
        case .request(let kind, let caller), .response(let kind, let caller): (kind, caller)
        case .zone(_, let caller, let kind), .record(_, let caller, let kind): (kind, caller)
        }
    }
}

extension CKRecordZone.ID {
    fileprivate func stands(for address: ZoneAddress) -> Bool {
        guard zoneName == address.zoneName else { return false }
        return ownerName == CKCurrentUserDefaultName || ownerName == address.ownerName
    }
}
