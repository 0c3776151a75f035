// Records and assets that clients inherit from, as their tests do to have records that look as if they came from the
// server, and to tie the lifetime of a file to its asset.

import Foundation
import StratusKit
import Testing

/// A record with dates and a tag that did not come from the server.
private final class PastRecord: CKRecord, @unchecked Sendable {
    // Because its variable is constant.
    private let date: Date?

    init(_ name: String, savedAt date: Date?) {
        self.date = date
        super.init(recordType: "Note", recordID: CKRecord.ID(recordName: name))
    }

    required init?(coder: NSCoder) {
        date = nil
        super.init(coder: coder)
    }

    override var modificationDate: Date? { date ?? super.modificationDate }
    override var creationDate: Date? { date ?? super.creationDate }
    override var recordChangeTag: String? { date == nil ? super.recordChangeTag : "past" }
    override var creatorUserRecordID: CKRecord.ID? { CKRecord.ID(recordName: "_somebody") }
    override class var supportsSecureCoding: Bool { true }
}

/// A record whose description contains its fields.
private class TaggedRecord: CKRecord, @unchecked Sendable {
    // Because it adds no variable.
    override var recordChangeTag: String? { self["tag"] }
}

/// An asset that owns its file.
private final class OwningAsset: CKAsset, @unchecked Sendable {
    // Because its variable is constant.
    private let file: URL

    init(_ data: Data) throws {
        file = FileManager.default.temporaryDirectory.appendingPathComponent("stratus-\(UUID().uuidString)")
        try data.write(to: file)
        super.init(fileURL: file)
    }

    required init?(coder: NSCoder) { nil }

    deinit { try? FileManager.default.removeItem(at: file) }
}

@Suite struct RecordSubclassTests {
    @Test("a subclass overrides what the server decides, also when it is read by name")
    func metadata() throws {
        let date = Date(timeIntervalSinceReferenceDate: 5)
        let record: CKRecord = PastRecord("a", savedAt: date)
        #expect(record.modificationDate == date)
        #expect(record.creationDate == date)
        #expect(record.recordChangeTag == "past")
        #expect(record.creatorUserRecordID?.recordName == "_somebody")
        #expect(record.value(forKey: "modificationDate") as? Date == date)
        #expect(record["___modTime"] as? Date == date)
        #expect(PastRecord("b", savedAt: nil).modificationDate == nil)
    }

    @Test("a subclass without its own initialisers has those of a record")
    func inheritedInitialisers() {
        let record = TaggedRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "a"))
        record["tag"] = "t"
        #expect(record.recordChangeTag == "t")
        #expect(TaggedRecord(recordType: "Note").recordID.zoneID == .default)
    }

    @Test("a subclass can be created from the system fields of another record")
    func decoding() throws {
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "a")).encodeSystemFields(with: coder)
        coder.finishEncoding()
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: coder.encodedData)
        let record = try #require(PastRecord(coder: unarchiver))
        #expect(record.recordID.recordName == "a")
        #expect(record.modificationDate == nil)
    }

    @Test("[C-04] a record of a subclass is saved, and the same object gets the server's changes")
    func saving() async throws {
        let bench = try OperationBench()
        let record = TaggedRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "a"))
        record["tag"] = "t"
        #expect(try await bench.database.save(record) === record)
        #expect(record.modificationDate != nil)
        #expect(try await bench.database.record(for: record.recordID)["tag"] == "t")
    }

    @Test("[C-10] an asset of a subclass lives as long as a record holds it")
    func assets() throws {
        let record = CKRecord(recordType: "Note")
        record["file"] = try OwningAsset(Data("text".utf8))
        let file = try #require((record["file"] as? CKAsset)?.fileURL)
        #expect(try Data(contentsOf: file) == Data("text".utf8))
        record["file"] = nil
        #expect(!FileManager.default.fileExists(atPath: file.path))
    }
}
