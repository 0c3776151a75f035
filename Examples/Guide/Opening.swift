// The pages about stores and accounts.

import Foundation
import StratusKit

extension Guide {
    /// Opens a store in a directory and saves a record for an account.
    public static func open(at directory: URL) async throws -> Stratus {
        // snippet
        let cloud = try await Stratus.open(at: directory)  // one LevelDB directory, many users
        let alice = try await cloud.account(
            externalID: "user-17", createIfMissing: .init(emails: ["alice@example.com"]))
        let container = cloud.container("iCloud.com.example.app", signedInAs: alice)
        let database = container.privateCloudDatabase  // from here on, CloudKit

        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "groceries"))
        note["title"] = "Groceries"
        try await database.save(note)
        // end
        return cloud
    }

    /// The first code that a reader sees: opens a store, saves a record, finds it again. Returns the titles it found.
    public static func firstScreen(at directory: URL) async throws -> [String] {
        var titles: [String] = []
        func print(_ title: String) { titles.append(title) }
        // snippet
        let cloud = try await Stratus.open(at: directory)  // one LevelDB directory, many users
        let alice = try await cloud.account(
            externalID: "user-17", createIfMissing: .init(emails: ["alice@example.com"]))
        let container = cloud.container("iCloud.com.example.notes", signedInAs: alice)
        let database = container.privateCloudDatabase  // from here on, CloudKit

        let note = CKRecord(recordType: "Note")
        note["title"] = "Groceries"
        try await database.save(note)

        let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "title BEGINSWITH %@", "Gro"))
        for (_, match) in try await database.records(matching: query).matchResults {
            let title: String? = try match.get()["title"]
            print(title ?? "")
        }
        // end
        return titles
    }

    /// Opens a store, and explains the error if that fails.
    public static func openOrExplain(_ directory: URL) async throws -> Stratus? {
        // snippet
        do {
            return try await Stratus.open(at: directory)
        } catch let error as StratusError where error.code == .held {
            let holder = error.fields["holderCommand"] ?? "another process"
            print("The store is in use by \(holder): stop it first.")
            return nil
        }
        // end
    }

    /// Options for a server.
    public static func productionOptions() -> Stratus.Options {
        // snippet
        var options = Stratus.Options()
        options.schemaMode = .production  // refuses types and fields that no schema names
        options.quotaByteCount = 1 << 30  // what one person may keep
        options.assetByteCount = 50 << 20
        options.shareURLBase = "https://app.example.com/share/"
        options.cacheByteCount = 256 << 20
        // end
        return options
    }

    /// Finds a person again and changes their data.
    public static func changeAccount(in cloud: Stratus) async throws -> Stratus.Account? {
        // snippet
        let alice = try await cloud.account(
            externalID: "user-17", createIfMissing: .init(emails: ["alice@example.com"]))
        try await cloud.setHandles(emails: ["alice@example.com", "alice@example.org"], of: alice)
        try await cloud.setQuota(byteCount: 5 << 30, of: alice)
        try await cloud.setStanding(.suspended, of: alice)
        // end
        return try await cloud.account(email: "Alice@Example.org")
    }

    /// Gives the code that runs in it a store of its own.
    public static func current(_ cloud: Stratus, _ record: CKRecord) async throws -> CKRecord {
        // snippet
        try await cloud.asCurrent {
            try await CKContainer.default().privateCloudDatabase.save(record)
        }
        // end
    }
}
