// What Docs/HOST.md says of schemas, and the first steps of a host.

import StratusTesting
import Testing

@Suite("First steps of a host")
struct FirstStepsTests {
    @Test("opening a store, creating an account and saving a note works")
    func readme() async throws {
        let scratch = try HostDirectory()
        let directory = scratch.store

        let cloud = try await Stratus.open(at: directory)
        let alice = try await cloud.account(
            externalID: "user-17", createIfMissing: .init(emails: ["alice@example.com"]))
        let database = cloud.container("iCloud.com.example.app", signedInAs: alice).privateCloudDatabase

        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "groceries"))
        note["title"] = "Groceries"
        try await database.save(note)

        let found = try await database.record(for: CKRecord.ID(recordName: "groceries"))
        #expect(found["title"] as? String == "Groceries")
        try await onThread { cloud.close() }
    }

    @Test("a learnt schema can be exported, and imported for production")
    func schema() async throws {
        let (learning, alice) = try Stratus.tested()
        let development = learning.container("iCloud.test", signedInAs: alice).privateCloudDatabase
        try await development.save(note("a"))
        let text = try await learning.exportSchema(ofContainer: "iCloud.test")
        #expect(text.contains("RECORD TYPE Note"))

        let (serving, bob) = try Stratus.tested { $0.schemaMode = .production }
        try await serving.importSchema(text, intoContainer: "iCloud.test")
        let production = serving.container("iCloud.test", signedInAs: bob).privateCloudDatabase
        try await production.save(note("a"))
        let stranger = note("b")
        stranger["unheard"] = 1
        let error = try await #require(throws: CKError.self) { try await production.save(stranger) }
        #expect(error.code == .invalidArguments)
        let mistake = try #require(throws: StratusError.self) {
            try serving.importSchema("RECORD TYPO", intoContainer: "iCloud.test")
        }
        #expect(mistake.code == .invalidArgument)
        #expect(mistake.fields["line"] == "1")
    }
}
