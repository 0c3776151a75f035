// A second person is invited to the shared folder, works in it, and is removed. After every step the server explains why
// they may do with a deep file what they may.

import Foundation
import StratusCloud
import StratusKit
import StratusModel
import StratusRecords

extension Demonstration {
    /// Throws `refused` when a step comes out otherwise than it must.
    func shareWithGuest(_ stage: DemoStage) throws {
        let owner = try session.owner()
        let guest = try session.guest(externalID: cast.guestID, email: cast.guestEmail)
        let root = recordID(stage.shared.name)
        try heading("share \(shown(stage.shared.name.text)) with a second person")
        try explain(stage.shared.deepest, guest, mayRead: false)

        let share = try step("invite somebody", { _ in 1 }) {
            try owner.invite(email: cast.guestEmail, to: root, permission: .readWrite)
        }
        try console.line("\(cast.guestEmail) is invited, and may read and write; the share's URL is not shown")
        try explain(stage.shared.deepest, guest, mayRead: false)
        guard let url = share.url else { throw unexpected("the share has no URL") }

        try step("accept by the URL", { _ in 1 }) { _ = try session.open(url, as: guest) }
        try console.line("the guest has accepted")
        try explain(stage.shared.deepest, guest, mayRead: true)

        let seen = try look(at: stage, guest)
        try edit(seen.file, stage, guest)
        try refuseOutside(stage, guest, seen.zone)

        _ = try step("remove the guest", { _ in 1 }) {
            try owner.remove(userRecordName: guest.account.userRecordName, from: root)
        }
        try expectNothingSeen(seen.file, guest)
        try console.line("the guest is removed: the zone and its records have vanished from the shared database")
        try explain(stage.shared.deepest, guest, mayRead: false)
    }

    /// What the guest finds in the shared database.
    private func look(
        at stage: DemoStage, _ guest: StoreSession.Guest
    ) throws -> (zone: CKRecordZone.ID, file: CKRecord.ID) {
        let zones = try step("list the shared zones", { $0.count }) { try guest.client.sharedZones() }
        guard zones.count == 1, let sharedZone = zones.first, sharedZone.zoneName == zone.name.text else {
            throw unexpected("the shared database lists \(zones.count.counting("zone"))")
        }
        try list(CKRecord.ID(recordName: stage.shared.name.text, zoneID: sharedZone), stage, guest)
        let file = CKRecord.ID(recordName: stage.shared.deepest.text, zoneID: sharedZone)
        let record = try step("fetch a shared file", { _ in 1 }) { try guest.client.sharedRecord(file) }
        try console.line("and far below, as one record by its name:")
        try show(record)
        return (sharedZone, file)
    }

    /// What lies right in the shared folder, by queries of the shared database: all of it, and nothing else.
    private func list(_ folder: CKRecord.ID, _ stage: DemoStage, _ guest: StoreSession.Guest) throws {
        let types = TreeType.all.map(\.text).sorted()
        let found = try step("list the shared folder", { $0.count }) {
            try guest.client.sharedRecords(under: folder, types: types, limit: Self.listedCount)
        }
        let stored = try session.read(zone) { try $0.children(of: stage.shared.name).map(\.name.text) }
        let names = Set(found.map(\.recordID.recordName))
        let isAll = names.count == stored.count || names.count >= Self.listedCount
        guard !names.isEmpty, isAll, names.isSubset(of: stored) else {
            throw unexpected("the guest lists something else than the folder holds")
        }
        let label = shown(folder.zoneID.zoneName)
        try console.line("the guest sees the zone \(label) of another, and in the shared folder:")
        for record in found.prefix(Self.shownCount) { try show(record) }
        if stored.count > Self.shownCount { try console.line("  … \(Quantities.count(stored.count)) in all") }
    }

    /// Records of a type that are asked for, and how many of all are shown.
    private static let listedCount = 200
    private static let shownCount = 5

    private func show(_ record: CKRecord) throws {
        let label = record[TreeField.name.text] as? String ?? ""
        try console.line("  \(shown(record.recordID.recordName))  \(shown(label))")
    }

    private func edit(_ file: CKRecord.ID, _ stage: DemoStage, _ guest: StoreSession.Guest) throws {
        let note = "read by the guest"
        try step("edit a shared file", { _ in 1 }) {
            try guest.client.setShared(note, forKey: "note", of: file)
        }
        let stored = try session.read(zone) { try $0.record(stage.shared.deepest) }
        guard stored?.record.fields["note"]?.value == .string(note),
            stored?.system.modified.user.text == guest.account.userRecordName
        else { throw unexpected("the guest's edit is not in the owner's zone") }
        try console.line("the guest has edited it, and the owner sees by whom")
    }

    private func refuseOutside(
        _ stage: DemoStage, _ guest: StoreSession.Guest, _ sharedZone: CKRecordZone.ID
    ) throws {
        let outside = CKRecord.ID(recordName: stage.base.text, zoneID: sharedZone)
        let unseen = try step("refuse to read outside", { _ in 0 }) {
            try Self.refusal { _ = try guest.client.sharedRecord(outside) }
        }
        guard let unseen, unseen.code == .unknownItem else { throw unexpected("the guest reads outside the share") }
        let uncreated = try step("refuse to write outside", { _ in 0 }) {
            let name = CKRecord.ID(recordName: "made-by-the-guest", zoneID: sharedZone)
            return try Self.refusal {
                try guest.client.makeShared(name, type: TreeType.file.text, under: outside)
            }
        }
        guard let uncreated, uncreated.code == .permissionFailure else {
            throw unexpected("the guest writes outside the share")
        }
        try console.line("outside, reading: \(shown(unseen.localizedDescription))")
        try console.line("outside, writing: \(shown(uncreated.localizedDescription))")
        try explain(stage.base, guest, mayRead: false)
    }

    private func expectNothingSeen(_ file: CKRecord.ID, _ guest: StoreSession.Guest) throws {
        guard try guest.client.sharedZones().isEmpty else { throw unexpected("a removed guest sees a zone") }
        let refusal = try Self.refusal { _ = try guest.client.sharedRecord(file) }
        guard refusal?.code == .zoneNotFound else { throw unexpected("a removed guest reads a record") }
    }

    /// Why the guest may or may not read a record.
    private func explain(_ record: RecordName, _ guest: StoreSession.Guest, mayRead: Bool) throws {
        let explanation = try session.service.explainAccess(
            to: record, in: zone, for: UserName(guest.account.userRecordName))
        for line in explanation.reasons { try console.line("  \(shown(line))") }
        try console.object(["explanation": .object(explanation.object)])
        guard explanation.verdict.mayRead == mayRead else {
            throw unexpected("the explanation is another than what holds")
        }
    }
}
