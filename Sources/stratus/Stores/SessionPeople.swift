// The people of an opened store: their accounts, their clients, and what they see.

import Foundation
import StratusCloud
import StratusKit
import StratusModel
import StratusRecords

extension StoreSession {
    /// The calls of hosts.
    ///
    /// Throws `notFound` if the store was opened with the engine only.
    var host: any StoreHost {
        get throws {
            guard let host = opened.host else {
                guard isOnServer else { throw choice.noAccount }
                throw ToolError(
                    .refused, "This verb does not write to a store on PostgreSQL: use the calls of its host.",
                    ["store": path])
            }
            return host
        }
    }

    /// The store that this process itself has open.
    ///
    /// Throws `notFound` if another process has it, or if it was opened with the engine only.
    var ownHost: Stratus {
        get throws {
            guard let stratus = opened.host as? Stratus else { throw choice.noAccount }
            return stratus
        }
    }

    /// The account of a person.
    ///
    /// Throws `notFound` if there is none.
    func person(_ address: PersonArgument) throws -> StoredAccount {
        guard let account = try engine.read({ try address.account(in: $0) }) else { throw address.notFound }
        return account
    }

    /// The account of a person in the host API.
    func hostAccount(_ address: PersonArgument) throws -> Stratus.Account {
        let id = try person(address).id
        guard let account = try host.account(id: id.text) else { throw address.notFound }
        return account
    }

    /// The account that acts: the named person's, or the database owner's.
    ///
    /// Throws `notFound` if there is no account.
    func actor(_ acting: ActingArguments?) throws -> StoredAccount {
        if let person = acting?.person { return try self.person(person) }
        guard let account else { throw choice.noAccount }
        return account
    }

    /// Throws `refused` with the given reason if the acting person is not the owner of the zone.
    func requireOwner(_ acting: ActingArguments, of zone: ZoneID, _ reason: String) throws {
        guard let person = acting.person, try self.person(person).userName != zone.database.owner else { return }
        throw ToolError(.refused, reason, ["person": person.text, "zone": zone.name.text])
    }

    /// Throws `refused` if the acting person may not delete a record that they see.
    func requireMayDelete(_ name: RecordName, in zone: ZoneID, _ acting: ActingArguments) throws {
        guard let person = acting.person else { return }
        let user = try self.person(person).userName
        guard try !service.explainAccess(to: name, in: zone, for: user).verdict.mayDelete else { return }
        throw ToolError(
            .refused, "The person may not delete the record: 'stratus explain' shows why.",
            ["person": person.text, "record": name.text])
    }

    /// The container, signed in as the acting person.
    func container(_ acting: ActingArguments?) throws -> CKContainer { try container(as: actor(acting)) }

    /// The container, signed in as a person.
    ///
    /// Throws `notFound` if the person has no account.
    func container(as person: StoredAccount?) throws -> CKContainer {
        guard let person, let account = try host.account(id: person.id.text) else { throw choice.noAccount }
        return try host.container(database.container.text, signedInAs: account)
    }

    /// The zone as the client of the acting person, or of its owner.
    ///
    /// Throws `notFound` if there is no account.
    func client(of zone: ZoneID, _ acting: ActingArguments? = nil) throws -> ZoneClient {
        try ZoneClient(container(acting), zone, as: actor(acting))
    }

    /// What the acting person sees of the zone.
    func sight(of zone: ZoneID, _ acting: ActingArguments) throws -> Sight {
        guard let person = acting.person else { return .all }
        return Sight(service: try service, zone: zone, user: try self.person(person).userName)
    }

    /// The zones that a person may see by the server's rules: their own, those shared with them, and the public ones.
    func visibleZones(
        of person: StoredAccount, in reader: RecordReader
    ) throws -> [(zone: ZoneID, isOwn: Bool)] {
        let (service, user) = (try service, person.userName)
        func order(_ zone: ZoneID) -> (String, String) { (zone.database.owner?.text ?? "", zone.name.text) }
        var found: [(zone: ZoneID, isOwn: Bool)] = []
        for container in try reader.containers() {
            var databases = [DatabaseID(container: container, owner: nil, scope: .public)]
            if try service.accountStatus(of: Caller(container: container, account: person.id)) == .available {
                let shared = try service.visibleZones(of: user, in: container, reader).map(\.id)
                found += shared.sorted { order($0) < order($1) }.map { ($0, false) }
                databases.append(DatabaseID(container: container, owner: user, scope: .private))
            }
            for database in databases {
                found += try reader.zones(in: database).map {
                    (ZoneID(database: database, name: $0.name), database.owner == user)
                }
            }
        }
        return found
    }

    /// Fills and clears indexes until they agree with their schemas.
    ///
    /// Throws `interrupted` if a signal asks the verb to stop: the next run or host continues.
    func finishIndexes(progress: @escaping PartListener = { _, _, _ in }) throws {
        if let served {
            _ = try served.finishIndexes(
                progress: { work in
                    // A host of an older version names no part.
                    let part = work.part.flatMap { IndexingPart(rawValue: $0) } ?? .records
                    progress(part.words, work.doneCount, work.totalCount ?? 0)
                }, isStopping: { StopSignal.isRequested })
        } else {
            try service.buildIndexes(pace) { progress($0.part.words, $0.doneCount, $0.totalCount ?? 0) }
        }
        try StopSignal.safePoint()
    }

    /// Does the same and shows the progress.
    func finishIndexes(_ console: Console) throws {
        let progress = ProgressLine("filling indexes", on: console)
        try finishIndexes { progress.update($0, $1, of: $2) }
    }

    /// The account of a database's owner; nil for the public database, and if the owner has none.
    func owner(of database: DatabaseID, in reader: RecordReader) throws -> StoredAccount? {
        guard let owner = database.owner else { return nil }
        return try AccountDirectory().account(userName: owner, in: reader)
    }
}

/// What a person, or the host, sees of a zone.
struct Sight {
    static let all = Sight(asked: nil)

    private let asked: (service: CloudService, zone: ZoneID, user: UserName)?

    private init(asked: (service: CloudService, zone: ZoneID, user: UserName)?) { self.asked = asked }

    init(service: CloudService, zone: ZoneID, user: UserName) { asked = (service, zone, user) }

    /// The person; nil for the host.
    var viewer: UserName? { asked?.user }

    /// Whether everything is seen.
    var isWhole: Bool { asked == nil }

    func sees(_ name: RecordName) throws -> Bool {
        try isWhole || seen(of: [name]).first ?? false
    }

    /// For each record, whether it is seen.
    func seen(of names: [RecordName]) throws -> [Bool] {
        guard let asked else { return names.map { _ in true } }
        return try asked.service.permissions(for: names, in: asked.zone, of: asked.user).map { $0.contains(.read) }
    }

    /// The error for a record that the person does not see, whether there is one or not.
    func unseen(_ address: String) -> ToolError {
        ToolError(
            .notFound, "The person sees no such record: 'stratus explain' tells the store's owner more.",
            ["address": address, "user": asked?.user.text ?? ""])
    }
}

/// The host calls that verbs use: on the store itself, or on the process that has it open and serves it.
protocol StoreHost: Sendable {
    /// The server's rules. For a served store, they only read.
    var service: CloudService { get throws }
    func account(id: String) throws -> Stratus.Account?
    func account(externalID: String, createIfMissing account: Stratus.NewAccount) throws -> Stratus.Account
    func createAccount(_ account: Stratus.NewAccount, externalID: String?) throws -> Stratus.Account
    func setHandles(
        emails: Set<String>, phoneNumbers: Set<String>, of account: Stratus.Account
    ) throws -> Stratus.Account
    func setStanding(_ standing: Stratus.Standing, of account: Stratus.Account) throws -> Stratus.Account
    func deleteAccountWithAllData(_ account: Stratus.Account, progress: FreeingProgress.Listener?) throws
    func container(_ identifier: String, signedInAs account: Stratus.Account) -> CKContainer
    func open(_ url: URL, as account: Stratus.Account) throws -> CKShare.Metadata
    func importSchema(_ text: String, intoContainer identifier: String) throws
    func close()
}

extension Stratus: StoreHost {}
extension ServedStore: StoreHost {}
