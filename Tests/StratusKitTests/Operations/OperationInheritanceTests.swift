// What operations inherit from their groups other than times: the container, and whether they are long-lived.

import Foundation
import StratusCloud
import StratusKit
import StratusModel
import StratusStore
import Testing

@Suite struct OperationInheritanceTests {
    @Test(
        "[O-12] an operation's own container takes precedence over its group's, and that over the one it was added to")
    func container() async throws {
        let bench = try OperationBench()
        let names = Locked<[String]>([])
        bench.interference.intervene { point in
            if case .request(_, let caller) = point { names.withLock { $0.append(caller.container.text) } }
            return nil
        }
        func makeContainer(_ identifier: String) -> CKContainer {
            CKContainer(session: bench.session, identifier: identifier, account: nil)
        }
        /// The containers that the operation's requests are for.
        func containers(_ configure: (CKFetchRecordsOperation) -> Void) async -> [String] {
            names.withLock { $0 = [] }
            let operation = CKFetchRecordsOperation(recordIDs: [CKRecord.ID(recordName: "a")])
            configure(operation)
            bench.container.add(operation)
            await bench.session.activity.untilIdle()
            return names.value
        }
        let group = CKOperationGroup()
        #expect(await containers { $0.group = group } == [OperationBench.containerIdentifier])
        group.defaultConfiguration.container = makeContainer("iCloud.group")
        #expect(await containers { $0.group = group } == ["iCloud.group"])
        let own = { (operation: CKFetchRecordsOperation) in
            operation.group = group
            operation.configuration.container = makeContainer("iCloud.own")
        }
        #expect(await containers(own) == ["iCloud.own"])
        let other = { (operation: CKFetchRecordsOperation) in
            operation.group = group
            operation.configuration.timeoutIntervalForRequest = 10
        }
        #expect(await containers(other) == ["iCloud.group"])
    }

    @Test("[O-12][O-14] an operation is long-lived by its own value, or else its group's, or else not")
    func longLife() async throws {
        let bench = try OperationBench()
        func isKept(_ name: String, _ configure: (CKModifyRecordsOperation) -> Void) async -> Bool {
            let trace = Trace()
            let operation = CKModifyRecordsOperation(recordsToSave: [makeRecord(name)])
            operation.longLivedOperationWasPersistedBlock = { trace.note("persisted") }
            configure(operation)
            await bench.run(operation)
            return trace.all == ["persisted"]
        }
        let group = CKOperationGroup()
        #expect(await isKept("a") { $0.group = group } == false)
        group.defaultConfiguration.isLongLived = true
        #expect(await isKept("b") { $0.group = group } == true)
        let own = { (operation: CKModifyRecordsOperation) in
            operation.group = group
            operation.configuration.isLongLived = false
        }
        #expect(await isKept("c", own) == false)
        let other = { (operation: CKModifyRecordsOperation) in
            operation.group = group
            operation.configuration.timeoutIntervalForRequest = 10
        }
        #expect(await isKept("d", other) == true)
        #expect(try await bench.stored(["a", "b", "c", "d"]) == ["a", "b", "c", "d"])
    }
}
