// The fault plan alone: which fault occurs at which moment, and how often.

import Foundation
import StratusCloud
import StratusModel
import Testing

@testable import StratusKit

@Suite("Fault plan")
struct FaultPlanTests {
    private let clock = Stratus.ManualClock()
    private let caller = Caller(container: "iCloud.test", account: "alice")

    private func plan() -> Stratus.FaultPlan { Stratus.FaultPlan(clock: clock) }

    @Test("an empty plan has no fault at any point")
    func empty() {
        let plan = plan()
        #expect(plan.error(at: .request(.modifyRecords, caller)) == nil)
        #expect(plan.error(at: .response(.modifyRecords, caller)) == nil)
        #expect(plan.count == 0)
    }

    @Test("[L-16] a fault occurs as often as planned, with its code, its text and its retry-after")
    func times() {
        let plan = plan()
        let fault = plan.fail(
            .everything, with: .requestRateLimited, retryAfter: 11, message: "Slowly!", lasting: .times(2))
        for _ in 1...2 {
            let error = plan.error(at: .request(.fetchRecords, caller))
            #expect(error?.code == .requestRateLimited)
            #expect(error?.retryAfterSeconds == 11)
            #expect(error?.message == "Slowly!")
        }
        #expect(plan.error(at: .request(.fetchRecords, caller)) == nil)
        #expect(fault.hitCount == 2)
        #expect(plan.count == 0)
    }

    @Test("a fault with a duration ends by the monotonic clock, whatever the wall clock shows")
    func time() {
        let plan = plan()
        plan.fail(.everything, with: .serviceUnavailable, lasting: .seconds(30))
        clock.now += 1_000
        clock.advance(by: 29)
        #expect(plan.error(at: .request(.modifyZones, caller))?.code == .serviceUnavailable)
        clock.advance(by: 1)
        #expect(plan.error(at: .request(.modifyZones, caller)) == nil)
    }

    @Test("a fault without an end stays until it is cancelled")
    func cancelled() {
        let plan = plan()
        let fault = plan.fail(.everything, with: .networkFailure, lasting: .untilCancelled)
        for _ in 1...100 { #expect(plan.error(at: .request(.fetchZones, caller)) != nil) }
        fault.cancel()
        fault.cancel()
        #expect(plan.error(at: .request(.fetchZones, caller)) == nil)
        #expect(fault.hitCount == 100)
    }

    @Test("a record's fault affects that record in any owner's zone, and no other")
    func record() {
        let plan = plan()
        let zoneID = CKRecordZone.ID(zoneName: "Notes")
        plan.fail(.record(CKRecord.ID(recordName: "a", zoneID: zoneID)), with: .quotaExceeded, lasting: .untilCancelled)
        func error(_ name: String, _ zone: String, _ owner: String) -> CloudError? {
            let address = RecordAddress(recordName: name, zone: ZoneAddress(zoneName: zone, ownerName: owner))
            return plan.error(at: .record(address, caller, .modifyRecords))
        }
        #expect(error("a", "Notes", ZoneAddress.currentUser)?.code == .quotaExceeded)
        #expect(error("a", "Notes", "_abc") != nil)
        #expect(error("b", "Notes", ZoneAddress.currentUser) == nil)
        #expect(error("a", "Other", ZoneAddress.currentUser) == nil)
        #expect(plan.error(at: .zone(ZoneAddress(zoneName: "Notes"), caller, .modifyRecords)) == nil)
        #expect(plan.error(at: .request(.modifyRecords, caller)) == nil)
    }

    @Test("[Z-09] a zone's fault with an owner affects that owner's zone only")
    func zone() {
        let plan = plan()
        plan.fail(
            .zone(CKRecordZone.ID(zoneName: "Notes", ownerName: "_abc")), with: .zoneBusy, lasting: .untilCancelled)
        func error(_ zone: ZoneAddress) -> CloudError? { plan.error(at: .zone(zone, caller, .modifyRecords)) }
        #expect(error(ZoneAddress(zoneName: "Notes", ownerName: "_abc"))?.code == .zoneBusy)
        #expect(error(ZoneAddress(zoneName: "Notes", ownerName: "_def")) == nil)
        #expect(error(ZoneAddress(zoneName: "Tasks", ownerName: "_abc")) == nil)
    }

    @Test("faults can be limited to a kind of request")
    func operation() {
        let plan = plan()
        plan.fail(.operation(.fetchRecords), with: .networkFailure, lasting: .untilCancelled)
        plan.fail(.everything, with: .serviceUnavailable, during: .modifyZones, lasting: .untilCancelled)
        #expect(plan.error(at: .request(.fetchRecords, caller))?.code == .networkFailure)
        #expect(plan.error(at: .request(.modifyRecords, caller)) == nil)
        #expect(plan.error(at: .request(.modifyZones, caller))?.code == .serviceUnavailable)
    }

    /// The public name of a kind. A new kind does not compile without one.
    private func publicName(of kind: RequestKind) -> Stratus.Operation {
        switch kind {
        case .modifyRecords: .modifyRecords
        case .fetchRecords: .fetchRecords
        case .fetchAssets: .fetchAssets
        case .modifyZones: .modifyZones
        case .fetchZones: .fetchZones
        case .fetchDatabaseChanges: .fetchDatabaseChanges
        case .fetchZoneChanges: .fetchZoneChanges
        case .query: .query
        case .modifySubscriptions: .modifySubscriptions
        case .fetchSubscriptions: .fetchSubscriptions
        case .fetchNotificationChanges: .fetchNotificationChanges
        case .markNotificationsRead: .markNotificationsRead
        case .modifyBadge: .modifyBadge
        case .fetchWebAuthToken: .fetchWebAuthToken
        case .accountStatus: .accountStatus
        case .userRecord: .userRecord
        case .discoverUsers: .discoverUsers
        case .shareParticipants: .shareParticipants
        case .shareMetadata: .shareMetadata
        case .acceptShares: .acceptShares
        case .requestShareAccess: .requestShareAccess
        case .deliverNotifications: .deliverNotifications
        case .openStore: .openStore
        case .recoverStore: .recoverStore
        case .queryUnknownField: .queryUnknownField
        }
    }

    @Test("every kind of request has its own public name for planning faults")
    func publicNames() {
        for kind in RequestKind.allCases {
            let name = publicName(of: kind)
            #expect(name == Stratus.Operation(kind))
            let plan = plan()
            plan.fail(.operation(name), with: .networkFailure, lasting: .untilCancelled)
            let struck = RequestKind.allCases.filter { plan.error(at: .request($0, caller)) != nil }
            #expect(struck == [kind])
        }
    }

    @Test("[S-21] a lost answer occurs only after the commit")
    func lostAnswer() {
        let plan = plan()
        plan.loseAnswers(of: .modifyRecords)
        #expect(plan.error(at: .request(.modifyRecords, caller)) == nil)
        #expect(plan.error(at: .response(.fetchRecords, caller)) == nil)
        #expect(plan.error(at: .response(.modifyRecords, caller))?.code == .serverResponseLost)
        #expect(plan.error(at: .response(.modifyRecords, caller)) == nil)
    }

    @Test("other faults never occur after the commit")
    func neverAfterCommit() {
        let plan = plan()
        plan.fail(.everything, with: .internalError, lasting: .untilCancelled)
        #expect(plan.error(at: .response(.modifyRecords, caller)) == nil)
    }

    @Test("the fault that was planned first occurs first, and one error uses up one fault")
    func order() {
        let plan = plan()
        plan.fail(.everything, with: .zoneBusy)
        plan.fail(.everything, with: .quotaExceeded)
        #expect(plan.error(at: .request(.modifyRecords, caller))?.code == .zoneBusy)
        #expect(plan.error(at: .request(.modifyRecords, caller))?.code == .quotaExceeded)
        #expect(plan.error(at: .request(.modifyRecords, caller)) == nil)
    }

    @Test("every code of CKError can be planned and is delivered", arguments: 1...37)
    func codes(rawValue: Int) throws {
        guard let code = CKError.Code(rawValue: rawValue) else { return #expect(rawValue == 13) }
        let plan = plan()
        plan.fail(.everything, with: code)
        #expect(plan.error(at: .request(.modifyRecords, caller))?.code.rawValue == rawValue)
    }

    @Test("many threads use up exactly as many faults as were planned")
    func threads() async {
        let plan = plan()
        let fault = plan.fail(.everything, with: .zoneBusy, lasting: .times(100))
        let caller = caller
        let hits = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    (0..<50).count { _ in plan.error(at: .request(.modifyRecords, caller)) != nil }
                }
            }
            return await group.reduce(0, +)
        }
        #expect(hits == 100)
        #expect(fault.hitCount == 100)
    }
}
