// Changes of records and shares that several verbs make: moves, deletions of whole subtrees, edits of a share.

import StratusKit
import StratusModel
import StratusRecords
import StratusStore

enum RecordEdit {
    /// How many records one commit deletes.
    static let deletionCommitRecordCount = 400
    /// How many records a deletion looks up at once: each lookup skips the entries of deleted records.
    private static let deletionRoundRecordCount = 20_000

    /// Moves a record under another one, or under none. Returns the old parent.
    ///
    /// Throws `RequestRefused` for a cycle or a second share, and `unknownRecord`; then nothing is changed.
    static func move(
        _ name: RecordName, under parent: RecordName?, in zone: ZoneID, _ session: StoreSession
    ) throws -> RecordName? {
        let empty = session.request([], in: zone)
        return try session.engine.transact { transaction in
            guard let old = try transaction.existingZone(zone).record(name)?.record else {
                throw StoreError(
                    .unknownRecord, "There is no such record: check its name and zone.",
                    ["record": name.text, "zone": zone.name.text])
            }
            var new = old
            new.parent = parent
            var request = empty
            request.mutations = old == new ? [] : [.save(new)]
            try session.apply(request, in: zone, transaction)
            return old.parent
        }
    }

    /// Deletes a record and everything below it, leaves first, so that no commit leaves a record without its parent,
    /// and the next run can continue an interrupted deletion. Returns the number of deleted records.
    ///
    /// `progress` gets the number of records deleted so far. Memory holds the names of one round.
    ///
    /// Throws `interrupted` between two commits if a signal asks the verb to stop.
    static func deleteSubtree(
        _ root: RecordName, in zone: ZoneID, _ session: StoreSession, _ acting: ActingArguments? = nil,
        progress: (Int) -> Void = { _ in }
    ) throws -> Int {
        var deleted = 0
        while true {
            let names = try session.read(zone) { try leaves(below: root, $0) }
            if names.isEmpty { return deleted }
            for start in stride(from: 0, to: names.count, by: deletionCommitRecordCount) {
                let commit = names[start..<min(start + deletionCommitRecordCount, names.count)]
                try session.delete(Array(commit), in: zone, acting)
                deleted += commit.count
                progress(deleted)
                try StopSignal.safePoint()
            }
        }
    }

    /// The records of one round: records below `root`, and `root` itself, each after everything below it.
    private static func leaves(below root: RecordName, _ zone: ZoneReader) throws -> [RecordName] {
        guard try zone.node(root) != nil else { return [] }
        var path: [RecordName] = [root]
        var leaves: [RecordName] = []
        try zone.visitSubtree(below: root) { child, level in
            // The walk has left these records, so everything below them was visited.
            while path.count > level, let done = path.popLast() { leaves.append(done) }
            path.append(child.name)
            return leaves.count >= deletionRoundRecordCount ? .stop : .next
        }
        if leaves.count < deletionRoundRecordCount {
            while let done = path.popLast() { leaves.append(done) }
        }
        return leaves
    }
}

/// A change of a share by a person. Prints the share afterwards.
struct ShareEdit {
    typealias Change = @Sendable (CKRecord.ID, CKContainer, [CKUserIdentity.LookupInfo]) async throws -> Void

    let record: RecordArgument
    let verb: any PlaceCommand
    /// Nil for verbs that never show the URL.
    var secret: URLArguments?

    /// Finds the share that the record is or is in, changes it, and prints it. With `creating` it creates a missing
    /// share. Looks up `people` for `change`. Changes nothing if `isStopped` returns true.
    func run(
        creating: Bool = false, looking people: [PersonArgument] = [], byAllNames: Bool = false,
        unless isStopped: (StoreSession, RecordName, Console) throws -> Bool = { _, _, _ in false },
        _ change: @escaping Change
    ) throws {
        try StoreSession.with(verb.store.at(record.place), .existingAsClient) { session, console in
            let id = try session.zone(verb.zone)
            let lookups = try people.flatMap { person in
                byAllNames ? try session.lookups(person) : [try session.lookup(person)]
            }
            let name = try share(in: id, creating: creating, session, console)
            if try isStopped(session, name, console) { return }
            let shareID = try session.client(of: id, verb.acting).recordID(name)
            let container = try session.container(verb.acting)
            try Blocking.wait { try await change(shareID, container, lookups) }
            guard let content = try session.read(id, { try $0.shareContent(name) }) else {
                // The last participant who leaves may end the share.
                return try console.line("the share \(VisibleText.of(name.text)) no longer exists")
            }
            try session.engine.read { reader in
                try ShareSummary(name: name, content: content, url: secret?.url(of: content)).show(
                    People(reader: reader), console)
            }
        }
    }

    /// Changes one participant, found by any of their names.
    func run(
        naming person: PersonArgument,
        unless isStopped: (StoreSession, RecordName, Console) throws -> Bool = { _, _, _ in false },
        _ edit: @escaping @Sendable (CKShare, CKShare.Participant) -> Void
    ) throws {
        try run(looking: [person], byAllNames: true, unless: isStopped) { shareID, container, lookups in
            let isOwn = shareID.zoneID.ownerName == CKCurrentUserDefaultName
            let database = isOwn ? container.privateCloudDatabase : container.sharedCloudDatabase
            guard let share = try await database.record(for: shareID) as? CKShare else {
                throw ToolError(.notFound, "There is no such share.", ["share": shareID.recordName])
            }
            let own = try await container.userRecordID().recordName
            let found = share.participants.first { participant in
                lookups.contains { Self.isSame($0, participant.userIdentity, own: own) }
            }
            guard let found else { throw Self.isNoParticipant(person) }
            edit(share, found)
            try await database.save(share)
        }
    }

    private static func isNoParticipant(_ person: PersonArgument) -> ToolError {
        ToolError(.notFound, "The person does not take part in the share.", ["person": person.text])
    }

    /// Throws `notFound` if a person does not take part in a share, and `refused` for its owner, who cannot leave it.
    static func requireGuest(
        _ person: PersonArgument, in share: RecordName, of zone: ZoneArguments, _ session: StoreSession
    ) throws {
        let content = try session.read(session.zone(zone)) { try $0.shareContent(share) }
        let user = try session.engine.read { try person.account(in: $0)?.userName }
        let handle = person.handle?.normalized
        let found = content?.participants.first { participant in
            user.map { $0 == participant.user } ?? false || handle.map { $0 == participant.invitedHandle } ?? false
        }
        guard let found else { throw isNoParticipant(person) }
        guard found.role != .owner else {
            throw ToolError(
                .refused, "The owner cannot leave the share: 'stratus share stop' ends it for all participants.",
                ["person": person.text, "share": share.text])
        }
    }

    private static func isSame(_ lookup: CKUserIdentity.LookupInfo, _ identity: CKUserIdentity, own: String) -> Bool {
        if let wanted = lookup.userRecordID?.recordName, let name = identity.userRecordID?.recordName {
            return wanted == (name == CKCurrentUserDefaultName ? own : name)
        }
        guard let known = identity.lookupInfo else { return false }
        if let email = lookup.emailAddress { return known.emailAddress == email }
        if let phone = lookup.phoneNumber { return known.phoneNumber == phone }
        return false
    }

    private func share(
        in zone: ZoneID, creating: Bool, _ session: StoreSession, _ console: Console
    ) throws -> RecordName {
        let name = try session.read(verb.zone, verb.acting) { try $0.resolve(record, $1, console) }
        do {
            return try session.read(zone) { try $0.share(of: name).name }
        } catch let error as ToolError where error.code == .notFound && creating {
            let root = try session.client(of: zone, verb.acting).recordID(name)
            let made = try session.container(verb.acting).makeShare(of: root, named: nil)
            return RecordName(made.recordID.recordName)
        }
    }
}

extension StoreSession {
    /// The lookup for a person: an address or an account.
    ///
    /// Throws `notFound` for a person without an account who is not named by an address.
    fileprivate func lookup(_ person: PersonArgument) throws -> CKUserIdentity.LookupInfo {
        guard let first = try lookups(person).first else { throw person.notFound }
        return first
    }

    /// Every lookup that may find the person in a share: by the given address, by the user record.
    fileprivate func lookups(_ person: PersonArgument) throws -> [CKUserIdentity.LookupInfo] {
        var lookups: [CKUserIdentity.LookupInfo] = []
        switch person.handle?.normalized {
        case .email(let address)?: lookups.append(CKUserIdentity.LookupInfo(emailAddress: address))
        case .phone(let number)?: lookups.append(CKUserIdentity.LookupInfo(phoneNumber: number))
        case nil: break
        }
        if let account = try engine.read({ try person.account(in: $0) }) {
            lookups.append(CKUserIdentity.LookupInfo(userRecordID: CKRecord.ID(recordName: account.userName.text)))
        }
        return lookups
    }
}
