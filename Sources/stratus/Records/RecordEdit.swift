// Changes of one record's place, and the deletion of whole subtrees.

import StratusCloud
import StratusKit
import StratusModel
import StratusRecords

enum RecordEdit {
    /// How many records a deletion takes into one commit.
    static let deletionCommitRecordCount = 400
    /// How many records a deletion looks up at once: each look passes over what was deleted before.
    private static let deletionRoundRecordCount = 20_000

    /// Puts a record under another one, or under none. Returns the parent it had.
    ///
    /// Throws `RequestRefused`, with nothing changed, for a cycle or a second share, and `unknownRecord`.
    static func move(
        _ name: RecordName, under parent: RecordName?, in zone: ZoneID, _ session: StoreSession
    ) throws -> RecordName? {
        try change(name, in: zone, session) { $0.parent = parent }.parent
    }

    /// Reads a record, changes it and writes it, as one transaction. Returns the record as it was.
    private static func change(
        _ name: RecordName, in zone: ZoneID, _ session: StoreSession, _ edit: (inout Record) -> Void
    ) throws -> Record {
        let empty = session.request([], in: zone)
        return try session.engine.transact { transaction in
            guard let old = try transaction.existingZone(zone).record(name)?.record else {
                throw RecordsError(
                    .unknownRecord, "No such record: check its name and its zone.",
                    ["record": name.text, "zone": zone.name.text])
            }
            var new = old
            edit(&new)
            var request = empty
            request.mutations = old == new ? [] : [.save(new)]
            try session.apply(request, in: zone, transaction)
            return old
        }
    }

    /// Deletes a record and everything below it, leaves first, so that no commit leaves a record without its parent and
    /// a deletion that was interrupted is taken up by the next. Returns how many records were deleted.
    ///
    /// `progress` is called with the number of records deleted so far. Memory holds one round's names.
    ///
    /// Throws `interrupted` between two commits where the verb was asked to stop.
    static func deleteSubtree(
        _ root: RecordName, in zone: ZoneID, _ session: StoreSession, delete: (([RecordName]) throws -> Void)? = nil,
        progress: (Int) -> Void = { _ in }
    ) throws -> Int {
        let delete = delete ?? { try session.delete($0, in: zone) }
        var deleted = 0
        while true {
            let names = try session.read(zone) { try leaves(below: root, $0) }
            if names.isEmpty { return deleted }
            for start in stride(from: 0, to: names.count, by: deletionCommitRecordCount) {
                let commit = names[start..<min(start + deletionCommitRecordCount, names.count)]
                try delete(Array(commit))
                deleted += commit.count
                progress(deleted)
                try StopSignal.safePoint()
            }
        }
    }

    /// Records below `root`, and `root` itself, each after everything below it; as many as one round takes.
    private static func leaves(below root: RecordName, _ zone: ZoneReader) throws -> [RecordName] {
        guard try zone.node(root) != nil else { return [] }
        var path: [RecordName] = [root]
        var leaves: [RecordName] = []
        try zone.visitSubtree(below: root) { child, level in
            // What the walk has left behind has had everything below it visited.
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

// A change of a share as a person makes it, and what the share is like then.

struct ShareEdit {
    typealias Change =
        @Sendable (any StoreHost, CKRecord.ID, CKContainer, [CKUserIdentity.LookupInfo]) async throws -> Void

    private let record: RecordArgument
    private let store: StoreArguments
    private let zone: ZoneArguments
    private let acting: ActingArguments
    private let secret: URLArguments

    init(
        _ record: RecordArgument, _ store: StoreArguments, _ zone: ZoneArguments, _ acting: ActingArguments,
        _ secret: URLArguments
    ) {
        (self.record, self.store, self.zone) = (record, store, zone)
        (self.acting, self.secret) = (acting, secret)
    }

    /// Finds the share that the record is or is in, changes it, and shows it. With `creating` it is made where there is
    /// none; `people` are handed on as they are looked up. Nothing is changed where `isStopped` says so of the share.
    func run(
        creating: Bool = false, looking people: [PersonArgument] = [], byAllNames: Bool = false,
        unless isStopped: (StoreSession, RecordName, Console) throws -> Bool = { _, _, _ in false },
        _ change: @escaping Change
    ) throws {
        let console = Console(usesJSON: store.json)
        try StoreSession.with(store.at(record.place), .existingAsClient) { session in
            let id = try session.zone(zone)
            let lookups = try people.flatMap { person in
                byAllNames ? try session.lookups(person) : [try session.lookup(person)]
            }
            let name = try share(in: id, creating: creating, session, console)
            if try isStopped(session, name, console) { return }
            let shareID = try session.client(of: id, acting).recordID(name)
            let (host, container) = (try session.host, try session.container(acting))
            try Blocking.wait { try await change(host, shareID, container, lookups) }
            guard let content = try session.read(id, { try $0.shareContent(name) }) else {
                // Whoever has left a share may have ended it.
                return try console.line("the share \(VisibleText.of(name.text)) is no more")
            }
            try session.engine.read { reader in
                try ShareSummary(name, content, url: secret.url(of: content)).show(People(reader: reader), console)
            }
        }
        try console.flush()
    }

    /// The same for one participant, who is found by any of their names.
    func run(
        naming person: PersonArgument,
        unless isStopped: (StoreSession, RecordName, Console) throws -> Bool = { _, _, _ in false },
        _ edit: @escaping @Sendable (CKShare, CKShare.Participant) -> Void
    ) throws {
        try run(looking: [person], byAllNames: true, unless: isStopped) { _, shareID, container, lookups in
            let isOwn = shareID.zoneID.ownerName == CKCurrentUserDefaultName
            let database = isOwn ? container.privateCloudDatabase : container.sharedCloudDatabase
            guard let share = try await database.record(for: shareID) as? CKShare else {
                throw ToolError(.notFound, "There is no such share.", ["share": shareID.recordName])
            }
            let own = try await container.userRecordID().recordName
            let found = share.participants.first { participant in
                lookups.contains { Self.isSame($0, participant.userIdentity, own: own) }
            }
            guard let found else {
                throw Self.takesNoPart(person)
            }
            edit(share, found)
            try await database.save(share)
        }
    }

    private static func takesNoPart(_ person: PersonArgument) -> ToolError {
        ToolError(.notFound, "The person takes no part in the share.", ["person": person.text])
    }

    /// Throws `notFound` where a person takes no part in a share, and `refused` where they are its owner, who stays in it.
    static func requireGuest(
        _ person: PersonArgument, in share: RecordName, of zone: ZoneReader, _ people: RecordReader
    ) throws {
        let (user, handle) = (try person.account(in: people)?.userName, person.handle?.normalized)
        let found = try zone.shareContent(share)?.participants.first { participant in
            user.map { $0 == participant.user } ?? false || handle.map { $0 == participant.invitedHandle } ?? false
        }
        guard let found else { throw takesNoPart(person) }
        guard found.role != .owner else {
            throw ToolError(
                .refused, "The owner stays in the share: 'stratus share stop' ends it for everybody.",
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
        let name = try session.read(zone) { try $0.resolve(record, console) }
        do {
            return try session.read(zone) { try $0.share(of: name).name }
        } catch let error as ToolError where error.code == .notFound && creating {
            let root = try session.client(of: zone, acting).recordID(name)
            return RecordName(try ShareClient(session.container(acting)).share(root, named: nil).recordID.recordName)
        }
    }
}

extension StoreSession {
    /// A person as they are looked up: by their account where they have one, else by an address.
    ///
    /// Throws `notFound` for somebody without account who is not named by an address.
    fileprivate func lookup(_ person: PersonArgument) throws -> CKUserIdentity.LookupInfo {
        guard let first = try lookups(person).first else { throw person.notFound }
        return first
    }

    /// Every way in which the person may stand in a share: by the address that was given, by their user record.
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

extension ShareSummary {
    func show(_ people: People, _ console: Console) throws {
        for line in try lines(people) { try console.line(line) }
        try console.object(object)
    }
}
