// Several people with a store on LevelDB between them, for tests of sharing as its users see it.

import Foundation
import StratusKit
import StratusStore
import Testing

/// A store with four accounts: Alice owns, the others are invited or not.
final class SharingStage: Sendable {
    static let containerID = "iCloud.com.example.app"
    let store: Stratus
    let alice: Stratus.Account
    let bob: Stratus.Account
    let carol: Stratus.Account
    let dave: Stratus.Account
    let zoneID = CKRecordZone.ID(zoneName: "Folders")
    private let directory: HostDirectory

    init(_ change: (inout Stratus.Options) -> Void = { _ in }) throws {
        let directory = try HostDirectory()
        let store = try Stratus.open(
            at: directory.store,
            options: .tested { options in
                options.identifiers = .random
                change(&options)
            })
        func account(_ name: String, phoneNumbers: Set<String> = []) throws -> Stratus.Account {
            var components = PersonNameComponents()
            components.givenName = name
            return try store.createAccount(
                .init(
                    emails: ["\(name.lowercased())@example.com"], phoneNumbers: phoneNumbers, name: components),
                externalID: name)
        }
        alice = try account("Alice")
        bob = try account("Bob", phoneNumbers: ["+49 30 1234567"])
        carol = try account("Carol")
        dave = try account("Dave")
        self.store = store
        self.directory = directory
    }

    deinit { store.close() }

    func container(_ account: Stratus.Account) -> CKContainer {
        store.container(Self.containerID, signedInAs: account)
    }

    /// Alice's database, in which she shares.
    var owned: CKDatabase { container(alice).privateCloudDatabase }

    /// What others share with a person.
    func shared(_ account: Stratus.Account) -> CKDatabase { container(account).sharedCloudDatabase }

    func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zoneID) }

    /// A record of Alice's as another person names it.
    func foreignID(_ name: String) -> CKRecord.ID {
        CKRecord.ID(
            recordName: name, zoneID: CKRecordZone.ID(zoneName: zoneID.zoneName, ownerName: alice.userRecordName))
    }

    /// A record of the zone, under another.
    func record(_ name: String, under parent: String? = nil, text: String = "text") -> CKRecord {
        let record = CKRecord(recordType: "Item", recordID: id(name))
        record["text"] = text
        record.setParent(parent.map { id($0) })
        return record
    }

    /// Alice's zone with a folder, `root`, in which there is a `note`, and an `outside` next to it. The folder is
    /// shared.
    func shareFolder(
        _ prepare: (CKShare) async throws -> Void = { _ in }
    ) async throws -> (root: CKRecord, share: CKShare) {
        try await owned.save(CKRecordZone(zoneID: zoneID))
        let root = record("root")
        let share = CKShare(rootRecord: root)
        share[CKShare.SystemFieldKey.title] = "Folder"
        try await prepare(share)
        let saved = try await owned.modifyRecords(
            saving: [root, share, record("note", under: "root"), record("outside")], deleting: [])
        for result in saved.saveResults.values { _ = try result.get() }
        return (root, share)
    }

    /// Somebody as a participant.
    func person(
        _ account: Stratus.Account, _ permission: CKShare.ParticipantPermission = .readWrite
    ) async throws -> CKShare.Participant {
        let email = try #require(account.emails.first)
        let participant = try await container(alice).shareParticipant(forEmailAddress: email)
        participant.permission = permission
        return participant
    }

    /// Accepts a share as an app does that was opened with its URL.
    @discardableResult
    func accept(_ share: CKShare, as account: Stratus.Account) async throws -> CKShare {
        try await accept(try #require(share.url), as: account)
    }

    @discardableResult
    func accept(_ url: URL, as account: Stratus.Account) async throws -> CKShare {
        let container = container(account)
        return try await container.accept(try await container.shareMetadata(for: url))
    }

    /// The names of those of these records that a person sees in the shared database.
    func visible(_ names: [String], to account: Stratus.Account) async throws -> [String] {
        let answers = try await shared(account).records(for: names.map { foreignID($0) })
        return names.filter { name in answers[foreignID(name)].flatMap { try? $0.get() } != nil }
    }

    /// Alice's newest version of the share.
    func newest(_ share: CKShare) async throws -> CKShare {
        try #require(try await owned.record(for: share.recordID) as? CKShare)
    }
}

/// The code of the error that `body` throws; "ok" if it throws none.
func failure<Value>(_ body: () async throws -> Value) async -> String {
    do {
        _ = try await body()
        return "ok"
    } catch {
        return outcome(error)
    }
}
