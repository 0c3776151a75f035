// Shows step by step what a store does with a real tree, with the cost of each step. It saves, shares, moves and
// deletes records through CloudKit's API, and reads chains and verifies below it.
//
//   1. Import the tree.                               6. Share it with a second person (Demonstration+Guest).
//   2. Import it again: nothing is written.           7. Move a folder into the shared tree, and out of it.
//   3. Make a folder the root of a share.             8. Delete that folder.
//   4. Show the chain and the share of a deep file.   9. Verify everything.
//   5. Refuse a second root above, below and at      10. Remove the zone, the accounts and the container's types.
//      the same place.
//
// A step with an unexpected result ends the demonstration with an error. Step 10 runs in any case, so nothing stays in
// the store.

import Foundation
import StratusCloud
import StratusKit
import StratusModel
import StratusRecords
import StratusStore

final class Demonstration {
    let session: StoreSession
    let cast: DemoCast
    let zone: ZoneID
    let options: ImportOptions
    let console: Console
    private var costs = Table(titles: ["step", "records", "commits", "fsyncs", "store reads", "time"])
    private let share: RecordName = "share-of-the-demonstration"
    /// Whether the last step has begun. No signal stops it.
    private var isRemoving = false

    init(_ session: StoreSession, _ cast: DemoCast, zone: ZoneID, options: ImportOptions, _ console: Console) {
        self.session = session
        self.cast = cast
        self.zone = zone
        self.options = options
        self.console = console
    }

    /// Runs all steps. Returns the result of the verification.
    ///
    /// Throws `refused` if the tree is too small or a step has an unexpected result.
    func run() throws -> Verification {
        let verification = try StopSignal.noting("interrupted: " + whatIsLeft, while: stepsAndRemoval)
        try heading("What each step cost")
        for line in costs.lines { try console.line(line) }
        try console.line()
        return verification
    }

    private func stepsAndRemoval() throws -> Verification {
        let verification: Verification
        do {
            verification = try steps()
        } catch {
            // Report the first error.
            do { try removeEverything() } catch { Console.note("note: " + whatIsLeft) }
            guard (error as? ToolError)?.code == .interrupted else { throw error }
            throw ToolError(
                .interrupted,
                "Interrupted; the zone and the accounts of the demonstration are deleted, and 'stratus zones purge' "
                    + "removes their remaining entries.")
        }
        try removeEverything()
        return verification
    }

    private func steps() throws -> Verification {
        try heading("A store in \(shown(session.path))")
        try importTree("import \(shown(options.topName.displayText))", mustWrite: true)
        try importTree("import it again", mustWrite: false)
        let stage = try session.read(zone) { try DemoStage(below: TreeNaming(top: options.topName).top, $0) }
        try makeRoot(stage)
        try showChain(of: stage.shared.deepest, "chain of a deep file", isShared: true)
        try refuseSecondRoots(stage)
        try shareWithGuest(stage)
        try moveInAndOut(stage)
        try deleteMoved(stage)
        return try step("verify", { $0.indexes?.recordsChecked ?? 0 }) {
            try Verification(of: session, console)
        }
    }

    // MARK: Steps

    private func importTree(_ title: String, mustWrite: Bool) throws {
        try heading(title)
        let before = session.engine.store.statistics.transactionsCommitted
        let total = try TreeImporter.count(options, console)
        let report = try step(title, { $0.savedCount }) {
            var importer = try TreeImporter(session, zone: zone, options: options)
            try importer.run(total: total, console)
            return importer.report
        }
        for line in report.lines { try console.line(line) }
        if mustWrite, report.createdCount != report.recordCount { throw unexpected("the import saved too little") }
        guard !mustWrite, session.engine.store.statistics.transactionsCommitted != before else { return }
        guard report.savedCount + report.deletedCount > 0 else {
            throw unexpected("an import that changed nothing has written")
        }
        throw ToolError(
            .refused, "The tree has changed between two imports: choose one that does not change.",
            ["saved": "\(report.savedCount)", "deleted": "\(report.deletedCount)"])
    }

    private func makeRoot(_ stage: DemoStage) throws {
        try heading("make \(shown(stage.shared.name.text)) the root of a share")
        _ = try step("share a folder", { _ in 2 }) {
            try ownersContainer.makeShare(of: recordID(stage.shared.name), named: share.text)
        }
        try console.line(
            "\(Quantities.count(stage.shared.recordCount, "record")) in the share now; the root and the share were written"
        )
    }

    private func showChain(of name: RecordName, _ title: String, isShared: Bool) throws {
        let chain = try step(title, { $0.records.count }) {
            try session.read(zone) { try ParentChain(of: name, $0) }
        }
        try heading(title)
        for line in chain.lines(console) { try console.line(line) }
        guard (chain.membership != nil) == isShared else { throw unexpected("the share of \(name.text) is wrong") }
    }

    private func refuseSecondRoots(_ stage: DemoStage) throws {
        try heading("a second root on the same path is refused")
        let inner = stage.shared.innerFolder ?? stage.shared.deepest
        let places = [("above", stage.base), ("below", inner), ("at the same place", stage.shared.name)]
        for (place, name) in places {
            let refusal = try step("refuse a root \(place)", { _ in 0 }) {
                try Self.refusal { _ = try ownersContainer.makeShare(of: recordID(name), named: "share-two") }
            }
            guard let refusal, refusal.code == .alreadyShared else {
                throw unexpected("a second root \(place) was not refused")
            }
            try console.line("\(place), \(shown(name.text)): \(shown(refusal.localizedDescription))")
        }
    }

    private func moveInAndOut(_ stage: DemoStage) throws {
        let count = stage.moved.recordCount
        for (parent, title, isShared) in [
            (stage.shared.name, "move a folder into the share", true), (stage.base, "move it out again", false),
        ] {
            try heading("\(title): \(shown(stage.moved.name.text)) under \(shown(parent.text))")
            _ = try step(title, { _ in 1 }) {
                try session.client(of: zone).move(stage.moved.name, under: parent)
            }
            try console.line("\(Quantities.count(count, "record")) moved; one was written")
            try showChain(
                of: stage.moved.deepest, isShared ? "a file of it, shared" : "the same file, not shared",
                isShared: isShared)
        }
    }

    private func deleteMoved(_ stage: DemoStage) throws {
        try heading("delete \(shown(stage.moved.name.text)) and everything below it")
        let deleted = try step("delete that folder", { $0 }) {
            try RecordEdit.deleteSubtree(stage.moved.name, in: zone, session)
        }
        try console.line("deleted \(Quantities.count(deleted, "record"))")
        guard deleted == stage.moved.recordCount else { throw unexpected("the deletion missed records") }
    }

    // MARK: Removing

    /// Restores the store as it was before. No signal stops this.
    private func removeEverything() throws {
        isRemoving = true
        try heading("remove what the demonstration has created")
        try step("delete the zone", { $0 ? 1 : 0 }) { try session.deleteZone(zone) }
        let host = try session.host
        try step("delete the accounts", { _ in 0 }) {
            for address in cast.people {
                guard let person = try session.engine.read({ try address.account(in: $0) }),
                    let account = try host.account(id: person.id.text)
                else { continue }
                try host.deleteAccountWithAllData(account, progress: nil)
            }
        }
        // An empty schema removes the container.
        try host.importSchema("DEFINE SCHEMA\n", intoContainer: cast.container)
        let purged = try step("remove their entries", { _ in 0 }) { try session.purge(console) }
        if !StopSignal.isRequested { try session.finishIndexes(console) }
        try console.line(
            "the zone and both accounts are deleted; \(Quantities.count(purged.entriesDeleted, "entry", "entries")) removed"
        )
    }

    private var whatIsLeft: String {
        "accounts of the demonstration may remain: \(cast.people.map(\.text).joined(separator: ", ")); "
            + "'stratus accounts delete' removes them"
    }

    // MARK: Output

    func heading(_ text: String) throws {
        try console.line()
        try console.line(console.styled("== \(text)", .bold))
        try console.flush()
    }

    private var ownersContainer: CKContainer {
        get throws { try session.container(as: session.account) }
    }

    func recordID(_ name: RecordName) -> CKRecord.ID {
        CKRecord.ID(recordName: name.text, zoneID: CKRecordZone.ID(zoneName: zone.name.text))
    }

    /// The error with which CloudKit refuses a request, or nil if it does not.
    static func refusal(of body: () throws -> Void) throws -> CKError? {
        do {
            try body()
            return nil
        } catch let error as ItemsRefused {
            return error.errors.min { $0.key < $1.key }?.value
        } catch let error as CKError {
            return error
        }
    }

    @discardableResult
    func step<Result>(
        _ title: String, _ recordCount: (Result) -> Int, _ body: () throws -> Result
    ) throws -> Result {
        if !isRemoving { try StopSignal.safePoint() }
        let (result, cost) = try StepCost.measuring(session, body)
        let count = recordCount(result)
        costs.rows.append([
            title, Quantities.count(count), Quantities.count(cost.commits), Quantities.count(cost.syncs),
            Quantities.count(cost.work.reads), Quantities.duration(cost.duration),
        ])
        try console.object(["step": title, "records": count, "cost": cost.object])
        return result
    }

    func shown(_ text: String) -> String { VisibleText.of(text) }

    func unexpected(_ what: String) -> ToolError {
        ToolError(
            .refused, "The demonstration failed. This is a bug: please report it.", ["step": what])
    }
}

// MARK: - The guest
//
// A second person is invited to the shared folder, works in it, and is removed. After every step the server explains
// the person's access to a deep file.

extension Demonstration {
    /// The second person, and the zone in their shared database.
    private struct Guest {
        let account: Stratus.Account
        let container: CKContainer
        let zone: ZoneClient

        func sharedZones() throws -> [CKRecordZone.ID] {
            try Blocking.wait { [container] in try await container.sharedCloudDatabase.allRecordZones().map(\.zoneID) }
        }
    }

    /// Creates the guest's account.
    private func makeGuest() throws -> Guest {
        let host = try session.host
        let account = try host.account(externalID: cast.guestID, createIfMissing: .init(emails: [cast.guestEmail]))
        let container = host.container(cast.container, signedInAs: account)
        let person = try session.person(PersonArgument("account:\(account.id)"))
        return Guest(account: account, container: container, zone: ZoneClient(container, zone, as: person))
    }

    /// Throws `refused` if a step has an unexpected result.
    func shareWithGuest(_ stage: DemoStage) throws {
        let (owner, guest) = (try session.client(of: zone), try makeGuest())
        let file = stage.shared.deepest
        try heading("share \(shown(stage.shared.name.text)) with a second person")
        try explain(file, guest, mayRead: false)

        let (container, shareID) = (try ownersContainer, recordID(share))
        let address = CKUserIdentity.LookupInfo(emailAddress: cast.guestEmail)
        let invited = try step("invite a person", { _ in 1 }) {
            try Blocking.wait {
                try await container.invite([address], to: shareID, permission: .readWrite, role: .privateUser)
            }
        }
        try console.line("\(cast.guestEmail) is invited, and may read and write; the share's URL is not shown")
        try explain(file, guest, mayRead: false)
        guard let url = invited.url else { throw unexpected("the share has no URL") }

        try step("accept by the URL", { _ in 1 }) { _ = try session.host.open(url, as: guest.account) }
        try console.line("the guest has accepted")
        try explain(file, guest, mayRead: true)

        let zones = try step("list the shared zones", { $0.count }) { try guest.sharedZones() }
        guard zones == [guest.zone.zoneID] else {
            throw unexpected("the shared database lists \(zones.count.counting("zone"))")
        }
        try list(stage, guest)
        let record = try step("fetch a shared file", { _ in 1 }) { try guest.zone.fetch(file) }
        try console.line("and far below, as one record by its name:")
        try show(record)
        try edit(file, guest)
        try refuseOutside(stage, guest)

        try step("remove the guest", { _ in 1 }) {
            guard let found = try owner.fetch(share) as? CKShare else { throw unexpected("the share is gone") }
            for one in found.participants
            where one.userIdentity.userRecordID?.recordName == guest.account.userRecordName {
                found.removeParticipant(one)
            }
            try owner.put(found)
        }
        guard try guest.sharedZones().isEmpty else { throw unexpected("a removed guest sees a zone") }
        guard try Self.refusal(of: { _ = try guest.zone.fetch(file) })?.code == .zoneNotFound else {
            throw unexpected("a removed guest reads a record")
        }
        try console.line("the guest is removed: the zone and its records have vanished from the shared database")
        try explain(file, guest, mayRead: false)
    }

    /// Lists the shared folder by queries of the shared database, and checks that the list is complete and contains
    /// nothing else.
    private func list(_ stage: DemoStage, _ guest: Guest) throws {
        let folder = CKRecord.Reference(recordID: guest.zone.recordID(stage.shared.name), action: .none)
        let found = try step("list the shared folder", { $0.count }) {
            var names: [RecordName] = []
            for type in TreeType.all.sorted() {
                let query = CKQuery(
                    recordType: type.text, predicate: NSPredicate(format: "parent == %@", folder))
                do {
                    try guest.zone.visitResults(of: query, limit: Self.listedCount) { names.append($0) }
                } catch CKError.unknownItem {
                    // No record of the type was saved yet (Q-11).
                }
            }
            return names
        }
        let stored = try session.read(zone) { try $0.children(of: stage.shared.name).map(\.name) }
        let names = Set(found)
        let isAll = names.count == stored.count || names.count >= Self.listedCount
        guard !names.isEmpty, isAll, names.isSubset(of: stored) else {
            throw unexpected("the guest's list differs from the folder's content")
        }
        try console.line("the guest sees another person's zone \(shown(zone.name.text)), and in the shared folder:")
        for name in found.prefix(Self.shownCount) { try show(guest.zone.fetch(name)) }
        if stored.count > Self.shownCount { try console.line("  … \(Quantities.count(stored.count)) in all") }
    }

    /// The limit of listed records per type, and the number of shown ones.
    private static let listedCount = 200
    private static let shownCount = 5

    private func show(_ record: CKRecord) throws {
        let label = record[TreeField.name.text] as? String ?? ""
        try console.line("  \(shown(record.recordID.recordName))  \(shown(label))")
    }

    private func edit(_ file: RecordName, _ guest: Guest) throws {
        let note = "read by the guest"
        try step("edit a shared file", { _ in 1 }) {
            let record = try guest.zone.fetch(file)
            record["note"] = note
            try guest.zone.put(record)
        }
        let stored = try session.read(zone) { try $0.record(file) }
        guard stored?.record.fields["note"]?.value == .string(note),
            stored?.system.modified.user.text == guest.account.userRecordName
        else { throw unexpected("the guest's edit is not in the owner's zone") }
        try console.line("the guest has edited it, and the owner sees who did")
    }

    private func refuseOutside(_ stage: DemoStage, _ guest: Guest) throws {
        let unseen = try step("refuse to read outside", { _ in 0 }) {
            try Self.refusal { _ = try guest.zone.fetch(stage.base) }
        }
        guard let unseen, unseen.code == .unknownItem else { throw unexpected("the guest reads outside the share") }
        let uncreated = try step("refuse to write outside", { _ in 0 }) {
            let record = CKRecord(
                recordType: TreeType.file.text, recordID: guest.zone.recordID("made-by-the-guest"))
            record.setParent(guest.zone.recordID(stage.base))
            return try Self.refusal { try guest.zone.put(record) }
        }
        guard let uncreated, uncreated.code == .permissionFailure else {
            throw unexpected("the guest writes outside the share")
        }
        try console.line("outside, reading: \(shown(unseen.localizedDescription))")
        try console.line("outside, writing: \(shown(uncreated.localizedDescription))")
        try explain(stage.base, guest, mayRead: false)
    }

    /// Explains why the guest may or may not read a record.
    private func explain(_ record: RecordName, _ guest: Guest, mayRead: Bool) throws {
        let explanation = try session.service.explainAccess(
            to: record, in: zone, for: UserName(guest.account.userRecordName))
        for line in explanation.reasons { try console.line("  \(shown(line))") }
        try console.object(["explanation": explanation.object])
        guard explanation.verdict.mayRead == mayRead else {
            throw unexpected("the explanation is wrong")
        }
    }
}
