// What records send and take over: the internal interface to the operations, which clients do not see.

import Foundation
@testable import StratusCloud
import StratusModel
import StratusStore
import Testing

@testable import StratusKit

@Suite struct ExchangeTests {
    private let recordID = CKRecord.ID(recordName: "n1", zoneID: CKRecordZone.ID(zoneName: "Notes"))
    private let account = AccountID("a1")
    private let origin = RecordOrigin(container: "iCloud.a", database: .private, account: "a1")
    private let content = AssetDescriptor(digest: [UInt8](repeating: 7, count: 32), byteCount: 5)

    private func answer(
        tag: String = "t1", modifiedAt seconds: Double = 2, fields: [String: ClientField] = [:]
    ) -> ClientRecord {
        ClientRecord(
            ToldRecord(
                address: recordID.address, type: "Note", changeTag: tag, creationDate: Date(timeIntervalSince1970: 1),
                modificationDate: Date(timeIntervalSince1970: seconds), creatorUserName: "__defaultOwner__",
                lastModifiedUserName: "_other", fields: ClientFields(fields)))
    }

    @Test("[C-04] after a save the same record has the server's fields, its values, and no changed keys")
    func absorb() {
        let record = CKRecord(recordType: "Note", recordID: recordID)
        record["title"] = "a"
        record.encryptedValues["secret"] = "s"
        record.setParent(CKRecord.ID(recordName: "f", zoneID: recordID.zoneID))
        let sent = record.beginSave()
        let save = sent.makeSave(to: origin)
        #expect(save.changedKeys == ["title", "secret"])
        #expect(
            save.fields == ["title": ClientField(.string("a")), "secret": ClientField(.string("s"), isEncrypted: true)])
        #expect(save.isParentChanged)
        #expect(save.baseTag == nil)
        #expect(save.origin == nil)

        var saved = answer()
        saved.parent = save.parent
        saved.share = ClientReference(target: RecordAddress(recordName: "s"), action: .none)
        record.absorb(saved, origin: origin, sent: sent)
        #expect(record.recordChangeTag == "t1")
        #expect(record.creationDate == Date(timeIntervalSince1970: 1))
        #expect(record.modificationDate == Date(timeIntervalSince1970: 2))
        #expect(record.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
        #expect(record.lastModifiedUserRecordID?.recordName == "_other")
        #expect(record.share?.recordID.recordName == "s")
        #expect(record.parent?.recordID.recordName == "f")
        #expect(record["title"] as? String == "a")
        #expect(record.changedKeys().isEmpty)
        #expect(record.encryptedValues.changedKeys().isEmpty)

        let next = record.beginSave().makeSave(to: origin)
        #expect(next.baseTag == "t1")
        #expect(next.changedKeys.isEmpty)
        #expect(!next.isParentChanged)
        #expect(next.origin == origin)
    }

    @Test("a field that is set during a save is still changed after it")
    func edits() {
        let record = CKRecord(recordType: "Note", recordID: recordID)
        record["title"] = "a"
        record["body"] = "b"
        let sent = record.beginSave()
        record["title"] = "c"
        record.setParent(CKRecord.ID(recordName: "f", zoneID: recordID.zoneID))
        record.absorb(answer(), origin: origin, sent: sent)
        #expect(record.changedKeys() == ["title"])
        #expect(record["title"] as? String == "c")
        #expect(record.parent != nil)
        #expect(record.beginSave().makeSave(to: origin).isParentChanged)
    }

    @Test("[C-03][C-04] of two concurrent saves each clears its own edits, and the older answer sets no tag")
    func overlappingSaves() {
        let record = CKRecord(recordType: "Note", recordID: recordID)
        record["a"] = "1"
        let first = record.beginSave()
        record["b"] = "2"
        let second = record.beginSave()
        #expect(first.makeSave(to: origin).changedKeys == ["a"])
        #expect(second.makeSave(to: origin).changedKeys == ["a", "b"])
        record.absorb(answer(tag: "t1"), origin: origin, sent: first)
        #expect(record.changedKeys() == ["b"])
        let later = answer(tag: "t2", modifiedAt: 3)
        record.absorb(later, origin: origin, sent: second)
        #expect(record.changedKeys().isEmpty)
        record.absorb(answer(tag: "t1"), origin: origin, sent: first)
        #expect(record.recordChangeTag == "t2")
    }

    @Test("[X-25] the first misuse is recorded with its text, also through copies and archives")
    func misuse() throws {
        let record = CKRecord(recordType: "Note", recordID: recordID)
        #expect(record.beginSave().makeSave(to: origin).misuse == nil)
        record["a b"] = 1
        record[""] = 1
        #expect(record.beginSave().makeSave(to: origin).misuse == "recordKey (a b) contains invalid characters")
        let copy = try #require(record.copy() as? CKRecord)
        #expect(copy.beginSave().makeSave(to: origin).misuse == record.beginSave().makeSave(to: origin).misuse)
        let data = try NSKeyedArchiver.archivedData(withRootObject: record, requiringSecureCoding: true)
        let decoded = try StratusArchive.decode(CKRecord.self, from: data)
        #expect(decoded.beginSave().makeSave(to: origin).misuse == record.beginSave().makeSave(to: origin).misuse)
    }

    @Test("[C-05][X-25] a misuse is not a system field: a record that decodes from system fields can be saved")
    func misuseOfValues() throws {
        let record = CKRecord(recordType: "Note", recordID: recordID)
        record["a b"] = 1
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: archiver)
        archiver.finishEncoding()
        let decoded = try StratusArchive.decode(CKRecord.self, from: archiver.encodedData)
        #expect(decoded.beginSave().makeSave(to: origin).misuse == nil)
    }

    @Test(
        "[X-25][C-07][C-08][C-09] every mistake is recorded",
        arguments: [
            { $0.setValue(URL(fileURLWithPath: "/"), forKey: "x") }, { $0["x"] = UInt64.max }, { $0["x"] = [["a"]] },
            { $0[""] = 1 }, { $0.encryptedValues["x"] = CKAsset(fileURL: URL(fileURLWithPath: "/")) },
            { $0.encryptedValues["x"] = CKRecord.Reference(record: $0, action: .none) },
            { $0.parent = CKRecord.Reference(record: $0, action: .deleteSelf) },
            { $0[CKRecord.SystemFieldKey.parent] = "folder" },
            { $0["x"] = URL(string: "https://example.com/etc/hostname").map { CKAsset(fileURL: $0) } },
            { $0["x"] = URL(string: "https://example.com/etc/hostname").map { [CKAsset(fileURL: $0)] } },
            { $0.setValue(NSPredicate { _, _ in true }, forKey: "x") },
            { $0.setValue([NSPredicate(format: "a = 1")], forKey: "x") },
        ] as [@Sendable (CKRecord) -> Void])
    func mistakes(make: @Sendable (CKRecord) -> Void) {
        let record = CKRecord(recordType: "Note", recordID: recordID)
        make(record)
        #expect(record.beginSave().makeSave(to: origin).misuse != nil)
        #expect(record.beginSave().makeSave(to: origin).fields.isEmpty)
        #expect(record.beginSave().makeSave(to: origin).parent == nil)
    }

    @Test("[S-05] the ancestor has the fetched values, and none for a record that was never saved")
    func ancestor() {
        let fetched = CKRecord(answer(fields: ["title": ClientField(.string("old"))]), origin: origin)
        fetched["title"] = "new"
        fetched["more"] = 1
        let ancestor = fetched.makeAncestor()
        #expect(ancestor["title"] as? String == "old")
        #expect(ancestor.allKeys() == ["title"])
        #expect(ancestor.recordChangeTag == "t1")
        #expect(ancestor.changedKeys().isEmpty)
        let fresh = CKRecord(recordType: "Note", recordID: recordID)
        fresh["title"] = "new"
        #expect(fresh.makeAncestor().allKeys().isEmpty)
    }

    @Test("[S-05][S-07] a conflict has three records, and the server's assets have no files")
    func conflict() {
        let client = CKRecord(answer(fields: ["title": ClientField(.string("old"))]), origin: origin)
        client["title"] = "mine"
        let server = answer(
            tag: "t2",
            fields: ["title": ClientField(.string("theirs")), "file": ClientField(.asset(.content(content)))])
        let error = CKError(
            CloudError(
                .serverRecordChanged, inner: 2004, "client oplock error updating record", retryAfterSeconds: 1.5,
                serverRecord: server), client: client, origin: origin)
        #expect(error.code == .serverRecordChanged)
        #expect(error.clientRecord === client)
        #expect(error.serverRecord?["title"] as? String == "theirs")
        #expect(error.serverRecord?.recordChangeTag == "t2")
        #expect(error.serverRecord?["file"] is CKAsset)
        #expect((error.serverRecord?["file"] as? CKAsset)?.fileURL == nil)
        #expect(error.ancestorRecord?["title"] as? String == "old")
        #expect(error.retryAfterSeconds == 1.5)
        #expect(error.localizedDescription == "client oplock error updating record")
        #expect((error.userInfo[NSUnderlyingErrorKey] as? NSError)?.code == 2004)
        #expect("\(error)".contains("14/2004"))
        #expect(error.serverRecord?.beginSave().makeSave(to: origin).origin == origin)
    }

    @Test("[X-23] a fetched record knows its database and account; a decoded one has none")
    func rememberedOrigin() throws {
        let record = CKRecord(answer(), origin: origin)
        #expect(record.beginSave().makeSave(to: origin).origin == origin)
        let data = try NSKeyedArchiver.archivedData(withRootObject: record, requiringSecureCoding: true)
        #expect(data.range(of: Data(account.text.utf8 + [0x5F])) == nil)
        let decoded = try StratusArchive.decode(CKRecord.self, from: data)
        #expect(decoded.beginSave().makeSave(to: origin).origin == nil)
    }

    @Test("[X-27] an asset that the fetch did not copy is copied when its file is first requested, once")
    func download() {
        let (count, places) = (Locked(0), Locked<[CKAsset.Place]>([]))
        let fetched = self.answer(fields: ["file": ClientField(.asset(.content(content)))])
        let download = MadeCopies { _, place in
            count.withLock { $0 += 1 }
            places.withLock { $0.append(place) }
            return URL(fileURLWithPath: "/copy")
        }
        let record = CKRecord(fetched, origin: origin, download: download)
        #expect(count.value == 0)
        let asset = record["file"] as? CKAsset
        #expect(asset?.fileURL?.path == "/copy")
        #expect(asset?.fileURL?.path == "/copy")
        #expect(count.value == 1)
        #expect(places.value == [CKAsset.Place(record: fetched.address, key: "file", in: origin)])
    }

    @Test("[R-14] an asset that stays in its field is named by its content, elsewhere it is a new upload")
    func claims() {
        let fetched = self.answer(fields: ["file": ClientField(.asset(.content(content)))])
        let download = MadeCopies { _, _ in URL(fileURLWithPath: "/copy") }
        let record = CKRecord(fetched, origin: origin, download: download)
        #expect(record.beginSave().makeSave(to: origin).fields["file"] == ClientField(.asset(.content(content))))
        record["other"] = record["file"] as? CKAsset
        record["file"] = record["file"] as? CKAsset
        #expect(record.beginSave().makeSave(to: origin).fields["file"] == ClientField(.asset(.content(content))))
        #expect(record.beginSave().makeSave(to: origin).fields["other"] == ClientField(.asset(.file(path: "/copy"))))

        record["new"] = CKAsset(fileURL: URL(fileURLWithPath: "/new"))
        #expect(record.beginSave().makeSave(to: origin).fields["new"] == ClientField(.asset(.file(path: "/new"))))
        let saved = answer(tag: "t2", modifiedAt: 3, fields: ["new": ClientField(.asset(.content(content)))])
        record.absorb(saved, origin: origin, sent: record.beginSave())
        #expect(record.beginSave().makeSave(to: origin).fields["new"] == ClientField(.asset(.content(content))))
        record["new"] = record["new"] as? CKAsset
        #expect(record.beginSave().makeSave(to: origin).fields["new"] == ClientField(.asset(.file(path: "/new"))))
    }

    @Test(
        "[R-14] a record of the same name in another database is a separate record, and everyone shares the public database"
    )
    func elsewhere() {
        let fetched = self.answer(fields: ["file": ClientField(.asset(.content(content)))])
        func claim(of origin: RecordOrigin, to target: RecordOrigin) -> ClientField? {
            let download = MadeCopies { _, _ in URL(fileURLWithPath: "/copy") }
            let record = CKRecord(fetched, origin: origin, download: download)
            return record.beginSave().makeSave(to: target).fields["file"]
        }
        let upload = ClientField(.asset(.file(path: "/copy")))
        var other = origin
        other.container = "iCloud.b"
        #expect(claim(of: origin, to: other) == upload)
        other = origin
        other.account = "a2"
        #expect(claim(of: origin, to: other) == upload)
        other = origin
        other.database = .public
        #expect(claim(of: origin, to: other) == upload)
        let (signedIn, signedOut) = (other, RecordOrigin(container: "iCloud.a", database: .public, account: nil))
        #expect(claim(of: signedOut, to: signedIn) == ClientField(.asset(.content(content))))
    }

    @Test("[X-27] a decoded asset claims its content where it was, and no path")
    func decodedAsset() throws {
        let record = CKRecord(answer(fields: ["file": ClientField(.asset(.content(content)))]), origin: origin)
        record["upload"] = CKAsset(fileURL: URL(fileURLWithPath: "/etc/passwd"))
        let data = try NSKeyedArchiver.archivedData(withRootObject: record, requiringSecureCoding: true)
        let fields = try StratusArchive.decode(CKRecord.self, from: data).beginSave().makeSave(to: origin).fields
        #expect(fields["file"] == ClientField(.asset(.content(content))))
        #expect(fields["upload"] == ClientField(.asset(.missing)))
    }

    @Test("[C-21] values are sent with the server's types")
    func types() {
        let record = CKRecord(recordType: "Note", recordID: recordID)
        record["flag"] = true
        record["integer"] = UInt8(5)
        record["single"] = Float(0.5)
        record["list"] = [1, 2]
        record["reference"] = CKRecord.Reference(recordID: recordID, action: .deleteSelf)
        #expect(
            record.beginSave().makeSave(to: origin).fields.mapValues(\.value) == [
                "flag": .int64(1), "integer": .int64(5), "single": .double(0.5), "list": .list([.int64(1), .int64(2)]),
                "reference": .reference(ClientReference(target: recordID.address, action: .deleteSelf)),
            ])
    }

    @Test("[Z-02] a zone from the server has its capabilities, share and scope; a save sends name and scope")
    func zones() {
        let share = ClientReference(target: RecordAddress(recordName: CKRecordNameZoneWideShare), action: .none)
        let zone = CKRecordZone(
            ClientZone(
                address: ZoneAddress(zoneName: "Notes"), capabilities: [.atomic, .zoneWideSharing], share: share,
                encryptionScope: .perZone))
        #expect(zone.capabilities == [.atomic, .zoneWideSharing])
        #expect(zone.share?.recordID.recordName == CKRecordNameZoneWideShare)
        #expect(zone.encryptionScope == .perZone)
        CKRecordZone.default().encryptionScope = .perZone
        #expect(CKRecordZone.default().encryptionScope == .perRecord)
        #expect(zone.makeSave() == ClientZone(address: ZoneAddress(zoneName: "Notes"), encryptionScope: .perZone))
    }
}
