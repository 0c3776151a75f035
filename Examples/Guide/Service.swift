// The pages about many users, running as a service, and backups.

import Foundation
import StratusKit

extension Guide {
    /// A request of one of many users.
    public static func serve(user: String, title: String, in cloud: Stratus) async throws -> String {
        // snippet
        let account = try await cloud.account(externalID: user, createIfMissing: .init())
        let database = cloud.container("iCloud.com.example.app", signedInAs: account).privateCloudDatabase
        let record = CKRecord(recordType: "Note")
        record["title"] = title
        return try await database.save(record).recordID.recordName
        // end
    }

    /// Options that report events to the host.
    public static func watched(count: @escaping @Sendable (String) -> Void) -> Stratus.Options {
        // snippet
        var options = Stratus.Options()
        options.onEvent = { event in
            if event.failedItemCount > 0 || event.errorCode != nil { count(event.operation.rawValue) }
        }
        // end
        return options
    }

    /// Runs the upkeep when the host has time for it.
    public static func nightlyUpkeep(at directory: URL) async throws -> Stratus {
        // snippet
        var options = Stratus.Options()
        options.upkeepIntervalSeconds = nil  // nothing in the background
        let cloud = try await Stratus.open(at: directory, options: options)
        try await cloud.performUpkeep()  // returns when everything is done
        // end
        return cloud
    }

    /// Backs a store up while it serves.
    public static func backUp(_ cloud: Stratus, to destination: URL) async throws -> Stratus.BackupReport {
        // snippet
        let report = try await cloud.backup(to: destination)
        for finding in report.findings { print("counted wrongly: \(finding)") }
        for path in report.removedPaths { print("removed what a killed backup had left: \(path)") }
        // end
        return report
    }

    /// Ends a service: accepted work finishes, other work is refused, the directory is free.
    public static func shutDown(_ cloud: Stratus) async {
        // snippet
        await cloud.close()  // returns when the last block of every operation was called
        // end
    }
}
