// The example of the README, as it stands there.

import FoundationEssentials
import StratusLevelDB
import StratusModel
import StratusRecords
import Testing

@Suite("README")
struct ReadmeExampleTests {
    @Test("the example compiles and says that the milk is in the family's share")
    func example() throws {
        let directory = try TemporaryDirectory()
        let store = try LevelDBStore.open(at: directory.path + "/store", options: .init())
        defer { store.close() }
        let engine = try RecordEngine(store: store, incarnation: UUID())
        let database = DatabaseID(container: "com.example.app", owner: "alice", scope: .private)
        let zone = ZoneID(database: database, name: "notes")
        let now = Stamp(date: Date(), user: "alice")

        let birth = ZoneBirth(identity: UUID(), incarnation: UUID(), stamp: now, databaseIdentity: UUID())
        try engine.transact { try $0.createZone(zone, birth) }

        let request = MutationRequest(
            [
                .save(
                    Record(name: "list", type: "List", share: "family", fields: ["title": Field(.string("Groceries"))])),
                .save(Record(name: "milk", type: "Item", parent: "list", fields: ["count": Field(.int64(2))])),
            ], stamp: now, tagSalt: .random(in: 0 ... .max))
        try engine.transact { try $0.apply(request, in: zone) }

        let share = try engine.read { try $0.existingZone(zone).shareMembership(of: "milk") }
        #expect(share == ShareMembership(root: "list", share: "family"))
    }
}
