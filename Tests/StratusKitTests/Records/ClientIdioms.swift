// Clients' idioms: this file has to compile without a warning, and one test checks its results. It contains nothing
// that a client of Apple's framework could not write.

import Foundation
import StratusKit
import Testing

private struct Item {
    var name = "name"
    var count: Int? = 3
    var tags: [String]? = ["a"]
    var date = Date()
    var due: Date?
    var kind = Kind.first

    enum Kind: String { case first, second }
    enum Key: String { case name, count }
}

extension CKRecord {
    fileprivate subscript(key: Item.Key) -> (any CKRecordValue)? {
        get { self[key.rawValue] }
        set { self[key.rawValue] = newValue }
    }
}

extension Item {
    fileprivate init?(_ record: CKRecord) {
        guard let name = record["name"] as? String, let date = record["date"] as? Date else { return nil }
        self.name = name
        self.date = date
        count = record["count"] as? Int ?? 0
        tags = record["tags"] as? [String]
        due = record["due"]
        kind = (record["kind"] as? String).flatMap(Kind.init(rawValue:)) ?? .first
    }

    fileprivate func write(to record: CKRecord) {
        record["name"] = name
        record["count"] = count
        record["tags"] = tags
        record["date"] = date as any CKRecordValue
        record["due"] = due as (any CKRecordValue)?
        record["kind"] = kind.rawValue as NSString
    }
}

@Suite struct ClientIdioms {
    private let record = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: "i"))

    @Test("the ways in which clients set and read fields compile without warnings and agree")
    func fields() throws {
        Item().write(to: record)
        let item = try #require(Item(record))
        #expect(item.count == 3)
        #expect(item.tags == ["a"])
        #expect(item.due == nil)

        record["x"] = "v"
        record["x"] = "v" as any CKRecordValue
        record["x"] = "v" as NSString
        let typed: String? = record["x"]
        let defaulted: String = record["x"] ?? ""
        #expect(record["x"] as? String == typed)
        #expect(defaulted == "v")
        #expect(record["x"] as? String? == "v")
        #expect((record["x"] as? NSString)?.length == 1)
        #expect(record.object(forKey: "x") as? String == "v")
        if let text = record["x"] as? String, text != "v" { Issue.record("other text") }
        guard let sure: String = record["x"] else {
            Issue.record("no text")
            return
        }
        #expect(sure == "v")

        record["x"] = 5
        record["x"] = 5 as NSNumber
        record["x"] = 5 as any CKRecordValue
        record["x"] = NSNumber(value: 5)
        record["x"] = Int64(5)
        #expect(record["x"] as? Int ?? 0 == 5)
        #expect((record["x"] as? NSNumber)?.intValue == 5)
        record["x"] = 5.5
        record["x"] = true
        #expect(record["x"] as? Bool == true)
        record["x"] = Date()
        record["x"] = Date() as NSDate
        record["x"] = Data() as any CKRecordValue
        record["tags"] = ["a", "b"]
        record["tags"] = ["a", "b"] as any CKRecordValue
        record["tags"] = ["a", "b"] as NSArray
        #expect(record["tags"] as? [String] ?? [] == ["a", "b"])
        record["x"] = nil
        #expect(record["x"] == nil)
        record.setObject("x" as any CKRecordValue, forKey: "x")
        record.setObject("x" as NSString, forKey: "x")
        record.setObject(nil, forKey: "x")
        record.setValue("x", forKey: "x")
        record[.name] = "other" as any CKRecordValue
        #expect(record[.name] as? String == "other")
    }

    @Test("the ways in which clients copy, compare and describe values compile without warnings")
    func values() {
        let other = CKRecord(recordType: "Item")
        record["name"] = "a"
        record["count"] = 2
        for key in record.allKeys() { other[key] = record[key] }
        for key in other.changedKeys() { other[key] = record[key] }
        #expect(other["name"] as? String == "a")
        record["copy"] = record["name"]
        let erased: (any CKRecordValueProtocol)? = record["name"]
        let objectiveC: (any CKRecordValue)? = record["name"]
        #expect(erased as? String == "a")
        #expect(objectiveC as? String == "a")
        #expect(["name", "count"].map { record[$0] as? String } == ["a", nil])
        #expect(record.compactMap { $0.1 as? Int64 } == [2])
        #expect(Dictionary(uniqueKeysWithValues: record.map { ($0.0, "\($0.1)") })["count"] == "2")
        switch record["count"] {
        case let number as Int: #expect(number == 2)
        case is String: Issue.record("a text")
        case .some(let value): Issue.record("\(value)")
        case .none: Issue.record("nothing")
        }
        record.encryptedValues["secret"] = "s"
        record.encryptedValues["secret"] = "s" as any CKRecordValue
        let secret: String? = record.encryptedValues["secret"]
        #expect(record.encryptedValues["secret"] as? String == secret)
        record.encryptedValues["secret"] = nil
    }

    @Test("values are compared and described without a cast, like Foundation objects")
    func valuesAsObjects() {
        let other = CKRecord(recordType: "Item")
        let asset = CKAsset(fileURL: URL(fileURLWithPath: "/tmp/file"))
        for record in [record, other] {
            record["name"] = "a"
            record["count"] = 2
            record["tags"] = ["a", "b"]
            record["date"] = Date(timeIntervalSince1970: 1)
            record["list"] = CKRecord.Reference(recordID: CKRecord.ID(recordName: "l"), action: .none)
        }
        record["file"] = asset
        other["file"] = CKAsset(fileURL: URL(fileURLWithPath: "/tmp/file"))
        for key in ["name", "count", "tags", "date", "list"] {
            #expect(record[key]?.isEqual(other[key]) == true)
            #expect(record[key]?.isEqual(other["file"]) == false)
        }
        #expect(record["file"]?.isEqual(asset) == true)
        #expect(record["file"]?.isEqual(other["file"]) == false)
        #expect(record["none"]?.isEqual(other["none"]) == nil)
        #expect(record["name"]?.isEqual(nil) == false)
        #expect(record["name"]?.isEqual(URL(fileURLWithPath: "/")) == false)
        let value = "a" as any CKRecordValue
        #expect(value.isEqual(record["name"]))
        #expect((2 as any CKRecordValue).isEqual(NSNumber(value: 2)))
        #expect(record["name"]?.description == "a")
        #expect(record["count"]?.description ?? "" == "2")
        #expect(value.description == "a")
        #expect(5.description == "5")
        #expect("a".description == "a")
    }

    @Test("the ways in which clients use references, assets and locations compile without warnings")
    func objects() {
        let parent = CKRecord(recordType: "List")
        record["list"] = CKRecord.Reference(record: parent, action: .deleteSelf)
        record["lists"] = [CKRecord.Reference(recordID: parent.recordID, action: .none)]
        record.parent = CKRecord.Reference(record: parent, action: .none)
        record.setParent(parent)
        record.setParent(parent.recordID)
        record["file"] = CKAsset(fileURL: URL(fileURLWithPath: "/tmp/file"))
        record["place"] = CLLocation(latitude: 1, longitude: 2)
        #expect((record["list"] as? CKRecord.Reference)?.recordID == parent.recordID)
        #expect((record["lists"] as? [CKRecord.Reference])?.first?.action == CKRecord.ReferenceAction.none)
        #expect((record["file"] as? CKAsset)?.fileURL?.lastPathComponent == "file")
        #expect((record["place"] as? CLLocation)?.coordinate.latitude == 1)
    }

    @Test("records, references, dates and arrays can be arguments of formats")
    func formats() {
        let arguments: [any CVarArg] = [
            record, record.recordID, CKRecord.Reference(record: record, action: .none), Date(), NSDate(), ["a"],
            CLLocation(latitude: 1, longitude: 2), "text", 5,
        ]
        #expect(arguments.count == 9)
        #expect(String(format: "%@ %@", "a", "b") == "a b")
        #expect(String(format: "%@", record.recordID).contains("CKRecordID"))
        #expect(!String(format: "%@", Date(timeIntervalSince1970: 0)).isEmpty)
    }

    @Test("records and errors cross threads")
    func sending() async {
        let record = record
        let name = await Task.detached { record.recordID.recordName }.value
        #expect(name == "i")
        let error = CKError(.zoneBusy)
        #expect(await Task.detached { error.code }.value == .zoneBusy)
    }

    @Test("clients' code for archiving system fields compiles and works")
    func archive() throws {
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: coder)
        coder.finishEncoding()
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: coder.encodedData)
        unarchiver.requiresSecureCoding = true
        let decoded = CKRecord(coder: unarchiver)
        unarchiver.finishDecoding()
        #expect(decoded?.recordID == record.recordID)
    }
}
