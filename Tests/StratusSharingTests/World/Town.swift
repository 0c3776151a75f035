// A store with people in it, each with a container of their own, and what they ask of it by CloudKit's calls alone.

import Foundation
import StratusKit

/// A zone, and the user record of its owner.
struct Place: Hashable, Sendable, CustomStringConvertible {
    let zone: String
    let owner: String

    init(_ zone: String, of owner: Person) {
        self.zone = zone
        self.owner = owner.userName
    }

    var description: String { zone }
}

/// Somebody with an account.
struct Person: Hashable, Sendable, CustomStringConvertible {
    let name: String
    let account: Stratus.Account
    let container: CKContainer

    var userName: String { account.userRecordName }
    var email: String { "\(name)@example.com" }
    var description: String { name }

    /// The zone as this person names it (D-02).
    func zoneID(_ place: Place) -> CKRecordZone.ID {
        owns(place)
            ? CKRecordZone.ID(zoneName: place.zone)
            : CKRecordZone.ID(zoneName: place.zone, ownerName: place.owner)
    }

    /// The record as this person names it.
    func recordID(_ name: String, in place: Place) -> CKRecord.ID {
        CKRecord.ID(recordName: name, zoneID: zoneID(place))
    }

    func owns(_ place: Place) -> Bool { place.owner == userName }

    /// The database in which this person finds the zone.
    func database(_ place: Place) -> CKDatabase {
        owns(place) ? container.privateCloudDatabase : container.sharedCloudDatabase
    }
}

/// A store with people in it.
final class Town: Sendable {
    static let containerName = "iCloud.com.example.town"

    let store: Stratus
    /// In the order in which they were named.
    let people: [Person]

    /// A town in memory, or in `directory`.
    init(
        _ names: [String], in directory: URL? = nil, change: (inout Stratus.Options) -> Void = { _ in }
    ) throws {
        var options = Stratus.Options()
        options.logger = nil
        options.identifiers = .seeded(1)
        options.upkeepIntervalSeconds = nil
        change(&options)
        let store =
            try directory.map { try Stratus.open(at: $0, options: options) } ?? Stratus.inMemory(options: options)
        self.store = store
        people = try names.map { name in
            let account = try store.createAccount(
                Stratus.NewAccount(emails: ["\(name)@example.com"], name: Self.fullName(name)), externalID: name)
            return Person(
                name: name, account: account, container: store.container(Self.containerName, signedInAs: account))
        }
    }

    func person(_ name: String) -> Person? { people.first { $0.name == name } }

    private static func fullName(_ name: String) -> PersonNameComponents {
        var components = PersonNameComponents()
        components.givenName = name.capitalized
        return components
    }
}

/// A directory that is removed with the object.
final class ScratchDirectory: Sendable {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("stratus-sharing-\(UUID().uuidString)")

    deinit { try? FileManager.default.removeItem(at: url) }
}
