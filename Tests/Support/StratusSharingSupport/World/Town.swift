// A store with people in it, each with a container of their own, and their requests, only by CloudKit's calls.

package import Foundation
package import StratusKit
import StratusTestSupport

/// A zone, and the user record of its owner.
package struct Place: Hashable, Sendable, CustomStringConvertible {
    package let zone: String
    package let owner: String

    package init(_ zone: String, of owner: Person) {
        self.zone = zone
        self.owner = owner.userName
    }

    package var description: String { zone }
}

/// Somebody with an account.
package struct Person: Hashable, Sendable, CustomStringConvertible {
    package let name: String
    package let account: Stratus.Account
    package let container: CKContainer

    package init(name: String, account: Stratus.Account, container: CKContainer) {
        self.name = name
        self.account = account
        self.container = container
    }

    package var userName: String { account.userRecordName }
    package var email: String { "\(name)@example.com" }
    package var description: String { name }

    /// The zone as this person names it (D-02).
    package func zoneID(_ place: Place) -> CKRecordZone.ID {
        owns(place)
            ? CKRecordZone.ID(zoneName: place.zone)
            : CKRecordZone.ID(zoneName: place.zone, ownerName: place.owner)
    }

    /// The record as this person names it.
    package func recordID(_ name: String, in place: Place) -> CKRecord.ID {
        CKRecord.ID(recordName: name, zoneID: zoneID(place))
    }

    package func owns(_ place: Place) -> Bool { place.owner == userName }

    /// The database in which this person finds the zone.
    package func database(_ place: Place) -> CKDatabase {
        owns(place) ? container.privateCloudDatabase : container.sharedCloudDatabase
    }
}

/// A store with people in it.
package final class Town: Sendable {
    package static let containerName = "iCloud.com.example.town"

    package let store: Stratus
    /// All hosts of the store. People use them in turn.
    package let hosts: [Stratus]
    /// In the order of their naming.
    package let people: [Person]
    /// Where the store is, on a server.
    private let place: PostgresTestStore?

    /// A town in memory or on the chosen store, or in `directory`.
    package init(
        _ names: [String], in directory: URL? = nil, change: (inout Stratus.Options) -> Void = { _ in }
    ) throws {
        var options = Stratus.Options()
        options.logger = nil
        options.identifiers = .seeded(1)
        options.upkeepIntervalSeconds = nil
        // As many towns run side by side.
        options.postgresConnectionCount = 4
        // Not in the closure, which runs outside of this task.
        if let kind = TestStores.chosen {
            options.makeMemoryStore = { try TestStores.$chosen.withValue(kind) { try TestStores.make() } }
        }
        change(&options)
        let place = try directory == nil && TestStores.chosen == .postgres ? PostgresTestStore(reusesTables: true) : nil
        self.place = place
        if directory == nil, let stores = try TestStores.makeShared() {
            hosts = try stores.enumerated().map { index, store in
                // Hosts that draw the same numbers would take each other's.
                var options = options
                if index > 0 { options.identifiers = .seeded(UInt64(1_000 + index)) }
                return try Stratus(on: store, options: options)
            }
        } else if let directory {
            hosts = [try Stratus.open(at: directory, options: options)]
        } else if let place {
            hosts = [try Stratus.open(at: place.url, options: options)]
        } else {
            hosts = [try Stratus.inMemory(options: options)]
        }
        let (store, hosts) = (hosts[0], hosts)
        self.store = store
        people = try names.enumerated().map { index, name in
            let account = try store.createAccount(
                Stratus.NewAccount(emails: ["\(name)@example.com"], name: Self.fullName(name)), externalID: name)
            return Person(
                name: name, account: account,
                container: hosts[index % hosts.count].container(Self.containerName, signedInAs: account))
        }
    }

    deinit {
        guard place != nil || hosts.count > 1 else { return }
        let (hosts, place) = (hosts, place)
        // Closing waits, and the schema is removed after it.
        Thread.detachNewThread {
            for host in hosts { host.close() }
            place?.remove()
        }
    }

    package func person(_ name: String) -> Person? { people.first { $0.name == name } }

    private static func fullName(_ name: String) -> PersonNameComponents {
        var components = PersonNameComponents()
        components.givenName = name.capitalized
        return components
    }
}

/// A directory that is removed with the object.
package final class ScratchDirectory: Sendable {
    package let url = FileManager.default.temporaryDirectory
        .appendingPathComponent("stratus-sharing-\(UUID.drawn().uuidString)")

    package init() {}

    deinit { try? FileManager.default.removeItem(at: url) }
}
