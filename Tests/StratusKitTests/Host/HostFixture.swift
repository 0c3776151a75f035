// What the tests of the host API share.

import Foundation
import StratusTestSupport

@testable import StratusKit

/// A directory that is removed with the object.
final class HostDirectory: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("stratus-host-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    /// A path for a store, not there yet.
    var store: URL { url.appendingPathComponent("store") }
}

extension Stratus.Options {
    /// Options of a store that a test moves and seeds by hand.
    static func tested(_ change: (inout Stratus.Options) -> Void = { _ in }) -> Stratus.Options {
        var options = Stratus.Options()
        options.logger = nil
        options.identifiers = .seeded(1)
        options.upkeepIntervalSeconds = nil
        change(&options)
        return options
    }
}

extension LocalPatience {
    /// As long as a test waits for a thread.
    static let tested = LocalPatience(
        idleSeconds: TestThreads.deadlineSeconds, frameSeconds: TestThreads.deadlineSeconds,
        farewellSeconds: TestThreads.deadlineSeconds)
}

extension Stratus {
    /// Makes the socket of this store wait for all its connections.
    func serveToolPatiently() throws {
        stopServingTool()
        try startServingTool(.tested)
    }

    /// A store in memory with one account.
    static func tested(
        _ change: (inout Stratus.Options) -> Void = { _ in }
    ) throws -> (store: Stratus, account: Stratus.Account) {
        let store = try inMemory(options: .tested(change))
        return (store, try store.createAccount(.init(emails: ["test@example.com"]), externalID: "test"))
    }

    /// Hosts of one store, if the chosen kind of stores has several; nil if it is another.
    static func testedHosts(_ change: (inout Stratus.Options) -> Void = { _ in }) throws -> [Stratus]? {
        try TestStores.makeShared()?.enumerated().map { index, store in
            var options = Stratus.Options.tested(change)
            // Hosts that draw the same numbers would take each other's.
            if index > 0 { options.identifiers = .seeded(UInt64(1_000 + index)) }
            return try Stratus(on: store, options: options)
        }
    }
}

/// A record of the default zone, or of another.
func note(_ name: String, in zone: String? = nil, text: String = "text") -> CKRecord {
    let zoneID = zone.map { CKRecordZone.ID(zoneName: $0) } ?? .default
    let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
    record["text"] = text
    return record
}
