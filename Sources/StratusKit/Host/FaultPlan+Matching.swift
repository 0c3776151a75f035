// Which planned fault, if any, comes up at a moment of a request.

package import StratusCloud
import StratusModel
import StratusStore
import Synchronization

extension Stratus.FaultPlan {
    /// The faults, and how often each has come up, those that are over included.
    struct State: Sendable {
        var rules: [Rule] = []
        var hitCounts: [UInt64: Int] = [:]
        var lastID: UInt64 = 0
    }

    /// One fault.
    struct Rule: Sendable {
        enum Trigger: Sendable {
            case target(Target)
            case answer
        }

        var id: UInt64 = 0
        var trigger: Trigger
        var operation: Stratus.Operation?
        var account: AccountID?
        var error: CloudError
        var remainingCount: Int?
        var endUptimeSeconds: Double?
        var durationSeconds: Double?

        init(
            trigger: Trigger, operation: Stratus.Operation?, account: AccountID?, error: CloudError, lasting: Lasting
        ) {
            self.trigger = trigger
            self.operation = operation
            self.account = account
            self.error = error
            switch lasting {
            case .times(let count): remainingCount = count
            case .seconds(let seconds): durationSeconds = seconds
            case .untilCancelled: break
            }
        }

        func isLive(uptime: Double) -> Bool {
            remainingCount.map { $0 > 0 } ?? true && endUptimeSeconds.map { uptime < $0 } ?? true
        }

        func fits(_ point: FaultPoint) -> Bool {
            let (kind, caller) = point.request
            if let operation, operation.rawValue != kind.rawValue { return false }
            if let account, account != caller.account { return false }
            switch (trigger, point) {
            case (.answer, .response): return true
            case (.answer, _), (_, .response): return false
            case (.target(let target), _): return target.fits(point, kind, caller)
            }
        }
    }

    func add(_ rule: Rule) -> Fault {
        var rule = rule
        if let duration = rule.durationSeconds { rule.endUptimeSeconds = clock.uptimeSeconds + duration }
        let added = rule
        let id = state.withLock { state in
            state.lastID += 1
            var rule = added
            rule.id = state.lastID
            state.rules.append(rule)
            isPlanned.store(true, ordering: .releasing)
            return state.lastID
        }
        return Fault(id: id, plan: self)
    }

    func remove(_ id: UInt64) {
        state.withLock { $0.rules.removeAll { $0.id == id } }
    }

    func hitCount(of id: UInt64) -> Int {
        state.withLock { $0.hitCounts[id] ?? 0 }
    }
}

extension Stratus.FaultPlan: FaultSource {
    package func error(at point: FaultPoint) -> CloudError? {
        guard isPlanned.load(ordering: .acquiring) else { return nil }
        let uptime = clock.uptimeSeconds
        return state.withLock { state in
            state.rules.removeAll { !$0.isLive(uptime: uptime) }
            guard let index = state.rules.firstIndex(where: { $0.fits(point) }) else { return nil }
            state.hitCounts[state.rules[index].id, default: 0] += 1
            if let count = state.rules[index].remainingCount { state.rules[index].remainingCount = count - 1 }
            return state.rules[index].error
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

extension Stratus.FaultPlan.Target {
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

extension CKRecordZone.ID {
    fileprivate func stands(for address: ZoneAddress) -> Bool {
        guard zoneName == address.zoneName else { return false }
        return ownerName == CKCurrentUserDefaultName || ownerName == address.ownerName
    }
}
