// Containers: their store, their account, and the user.

import Foundation
import StratusCloud
import StratusKit
import StratusLayout
import StratusModel
import StratusStore
import StratusTestSupport
import Testing

@Suite struct ContainerTests {
    @Test("a container always returns the same database objects")
    func databases() throws {
        let container = try OperationBench().container
        #expect(container.privateCloudDatabase === container.database(with: .private))
        #expect(container.publicCloudDatabase === container.database(with: .public))
        #expect(container.sharedCloudDatabase === container.database(with: .shared))
        #expect(container.privateCloudDatabase.databaseScope == .private)
        #expect(container.containerIdentifier == OperationBench.containerIdentifier)
        #expect([CKDatabase.Scope.public, .private, .shared].map(\.rawValue) == [1, 2, 3])
    }

    @Test("[X-28] the default container uses the store that was current when it was created")
    func current() async throws {
        let (one, other) = (try OperationBench(), try OperationBench())
        let (first, operation) = CurrentSession.$ofTask.withValue(one.session) {
            (CKContainer.default(), CKModifyRecordsOperation(recordsToSave: [makeRecord("a")]))
        }
        try await CurrentSession.$ofTask.withValue(other.session) {
            #expect(CKContainer.default() !== first)
            let kept = CKContainer.default()
            #expect(CKContainer.default() === kept)
            #expect(kept.containerIdentifier == OperationBench.containerIdentifier)
            #expect(try await first.accountStatus() == .available)
            try await CKContainer(identifier: OperationBench.containerIdentifier).privateCloudDatabase.save(
                makeRecord("b"))
        }
        // An operation without a database works on the private one of the container it would have found when made.
        let done = Gate("the operation to end")
        operation.completionBlock = { done.open() }
        OperationQueue().addOperation(operation)
        try await TestThreads.offPool { try done.wait() }
        #expect(try await one.stored(["a", "b"]) == ["a"])
        #expect(try await other.stored(["a", "b"]) == ["b"])
    }

    @Test("[O-19][X-28] a store that cannot be opened refuses requests with the reason, and default() never fails")
    func refused() async throws {
        let refusal = CloudError(.serviceUnavailable, "held", ["holder": "12"])
        let session = CloudSession(server: RefusingServer(refusal), clock: HandClock())
        await CurrentSession.$ofTask.withValue(session) {
            let container = CKContainer.default()
            await #expect { try await container.privateCloudDatabase.save(makeRecord("a")) } throws: { error in
                outcome(error) == "serviceUnavailable" && (error as? CKError)?.userInfo["holder"] as? String == "12"
            }
            await #expect { try await container.accountStatus() } throws: { outcome($0) == "serviceUnavailable" }
        }
    }

    @Test("[O-19] an invalid container can be created, and fails with badContainer when it is used")
    func badContainer() async throws {
        let bench = try OperationBench()
        for identifier in ["", "iCloud.com/example", "with space", "é", String(repeating: "a", count: 255)] {
            let container = CKContainer(session: bench.session, identifier: identifier, account: nil)
            await #expect { try await container.privateCloudDatabase.save(makeRecord("a")) } throws: {
                outcome($0) == "badContainer"
            }
            await #expect { try await container.accountStatus() } throws: { outcome($0) == "badContainer" }
        }
        #expect(bench.interference.sent.isEmpty)
        let longest = String(repeating: "a.", count: 127)
        let container = CKContainer(session: bench.session, identifier: longest, account: nil)
        try await container.privateCloudDatabase.save(makeRecord("a"))
    }

    @Test("[O-18] the status is a result also without an account, and changes are posted")
    func status() async throws {
        let bench = try OperationBench()
        let posts = Locked(0)
        let observer = NotificationCenter.default.addObserver(forName: .CKAccountChanged, object: nil, queue: nil) {
            _ in
            posts.withLock { $0 += 1 }
        }
        defer { NotificationCenter.default.removeObserver(observer) }
        #expect(try await bench.container.accountStatus() == .available)
        bench.session.signIn(bench.account.id)
        await bench.session.activity.untilIdle()
        let before = posts.value
        bench.session.signIn(nil)
        await bench.session.activity.untilIdle()
        #expect(posts.value > before)
        #expect(try await bench.container.accountStatus() == .noAccount)
        let fixed = CKContainer(session: bench.session, identifier: "iCloud.other", account: bench.account.id)
        for (standing, expected) in [
            (AccountStanding.restricted, CKAccountStatus.restricted), (.needsVerification, .temporarilyUnavailable),
            (.suspended, .noAccount), (.good, .available),
        ] {
            _ = try bench.service.setStanding(standing, of: bench.account.id)
            #expect(try await fixed.accountStatus() == expected)
        }
        let answer: String = await withCheckedContinuation { continuation in
            bench.container.accountStatus { status, error in
                continuation.resume(returning: "\(status) \(outcome(error))")
            }
        }
        #expect(answer == "noAccount ok")
    }

    @Test(
        "[O-18] if the store fails, the status call throws, and a handler gets couldNotDetermine with the error",
        arguments: BenchStore.allCases)
    func unknownStatus(store: BenchStore) async throws {
        let bench = try OperationBench(store)
        func container(_ account: AccountID) -> CKContainer {
            CKContainer(session: bench.session, identifier: OperationBench.containerIdentifier, account: account)
        }
        func statuses(_ account: AccountID) async -> [String] {
            let container = container(account)
            let handled: String = await withCheckedContinuation { continuation in
                container.accountStatus { continuation.resume(returning: "\($0) \(outcome($1))") }
            }
            do { return [handled, "\(try await container.accountStatus())"] } catch {
                return [handled, outcome(error)]
            }
        }
        try bench.store.transact { try $0.set(GlobalKeys.account("damaged"), to: [0xFF]) }
        #expect(await statuses("damaged") == ["couldNotDetermine internalError", "internalError"])
        #expect(await statuses("nobody") == ["noAccount ok", "noAccount"])
        bench.store.close()
        #expect(await statuses("nobody") == ["couldNotDetermine serviceUnavailable", "serviceUnavailable"])
    }

    @Test(
        "[O-17] the user's record and its identifier are fetched; without an account the error is notAuthenticated",
        arguments: BenchStore.allCases)
    func userRecord(store: BenchStore) async throws {
        let bench = try OperationBench(store)
        let userID = try await bench.container.userRecordID()
        #expect(userID.recordName == bench.account.userName.text)
        #expect(userID.zoneID == .default)
        let handled: CKRecord.ID? = await withCheckedContinuation { continuation in
            bench.container.fetchUserRecordID { id, _ in continuation.resume(returning: id) }
        }
        #expect(handled == userID)
        func fetchCurrentUser() async -> [String] {
            let trace = Trace()
            let operation = CKFetchRecordsOperation.fetchCurrentUserRecordOperation()
            operation.perRecordResultBlock = { id, result in
                trace.note("\((try? result.get().recordType) ?? outcome(result)) \(id == userID)")
            }
            operation.fetchRecordsResultBlock = { trace.note(outcome($0)) }
            await bench.run(operation)
            return trace.all
        }
        #expect(await fetchCurrentUser() == ["Users true", "ok"])
        bench.session.signIn(nil)
        #expect(await fetchCurrentUser() == ["notAuthenticated"])
        await #expect { try await bench.container.userRecordID() } throws: { outcome($0) == "notAuthenticated" }
    }

    @Test("an operation runs on its database, or its configuration's container, or the container it was added to")
    func precedence() async throws {
        let bench = try OperationBench()
        func identifier(_ operation: CKModifyRecordsOperation, addedTo container: CKContainer) async throws -> [String]
        {
            let done = Gate("the operation to end")
            operation.completionBlock = { done.open() }
            container.add(operation)
            try await TestThreads.offPool { try done.wait() }
            var found: [String] = []
            for name in ["one", "two", "three"] {
                let container = CKContainer(session: bench.session, identifier: name, account: nil)
                let id = CKRecord.ID(recordName: "a")
                if (try? await container.privateCloudDatabase.record(for: id)) != nil { found.append(name) }
                try await container.privateCloudDatabase.deleteRecord(withID: id)
            }
            return found
        }
        let containers = ["one", "two", "three"].map {
            CKContainer(session: bench.session, identifier: $0, account: nil)
        }
        let plain = CKModifyRecordsOperation(recordsToSave: [makeRecord("a")])
        #expect(try await identifier(plain, addedTo: containers[0]) == ["one"])
        let configured = CKModifyRecordsOperation(recordsToSave: [makeRecord("a")])
        configured.configuration.container = containers[1]
        #expect(try await identifier(configured, addedTo: containers[0]) == ["two"])
        let placed = CKModifyRecordsOperation(recordsToSave: [makeRecord("a")])
        placed.configuration.container = containers[1]
        placed.database = containers[2].privateCloudDatabase
        #expect(try await identifier(placed, addedTo: containers[0]) == ["three"])
    }

    @Test("after closing a session, requests fail with serviceUnavailable")
    func closed() async throws {
        let bench = try OperationBench()
        bench.session.close()
        await #expect { try await bench.database.save(makeRecord("a")) } throws: { outcome($0) == "serviceUnavailable" }
        await #expect { try await bench.container.accountStatus() } throws: { outcome($0) == "serviceUnavailable" }
    }
}
