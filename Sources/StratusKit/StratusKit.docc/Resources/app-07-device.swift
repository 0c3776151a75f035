import CloudKit
import StratusTesting
import Testing

@Suite(.stratus) struct TodoListTests {
    private let zoneID = CKRecordZone.ID(zoneName: "Todo")

    @Test func firstItemMakesTheZone() async throws {
        let list = TodoList()
        try await list.add("Milk")
        try await list.add("Bread")
        #expect(try await list.items() == ["Bread", "Milk"])
    }

    @Test func anItemSurvivesABusyZone() async throws {
        let store = try Stratus.current
        let busy = store.faults.fail(.zone(zoneID), with: .zoneBusy, retryAfter: 0, lasting: .times(2))
        try await TodoList().add("Milk")
        #expect(busy.hitCount == 2)
    }
}

extension TodoListTests {
    @Test func anItemIsThereAlthoughItsAnswerWasLost() async throws {
        let list = TodoList()
        try await list.add("Milk")
        try Stratus.current.faults.loseAnswers(of: .modifyRecords)
        await #expect(throws: CKError.self) { try await list.add("Bread") }
        #expect(try await list.items() == ["Bread", "Milk"])
    }
}

extension TodoListTests {
    @Test func nobodyIsSignedIn() async throws {
        try Stratus.current.signOut()
        #expect(try await CKContainer.default().accountStatus() == .noAccount)
        await #expect(throws: CKError.self) { try await TodoList().add("Milk") }
    }
}

extension TodoListTests {
    @Test func theOtherDeviceIsTold() async throws {
        let store = try Stratus.current
        let database = CKContainer.default().privateCloudDatabase
        try await database.save(CKDatabaseSubscription(subscriptionID: "everything"))
        let account = try #require(try store.signedInAccount)
        let tablet = try await store.device("tablet", signedInAs: account)

        try await TodoList().add("Milk")
        await store.settle()

        var told = tablet.notifications.makeAsyncIterator()
        let notification = await told.next()?.notification
        #expect(notification?.subscriptionID == "everything")
    }
}
