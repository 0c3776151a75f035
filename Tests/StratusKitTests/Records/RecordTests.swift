// What a record does without a server.

import Foundation
import StratusKit
import Testing

@Suite struct RecordTests {
    private let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n1"))

    @Test("[C-01] records are equal only to themselves, not to a copy")
    func identity() throws {
        let copy = try #require(record.copy() as? CKRecord)
        #expect(record == record)
        #expect(copy != record)
        #expect(copy.recordID == record.recordID)
        #expect(Set([record, copy, record]).count == 2)
    }

    @Test("[C-02] what the server decides is nil in a new record")
    func fresh() {
        #expect(record.recordChangeTag == nil)
        #expect(record.creationDate == nil)
        #expect(record.modificationDate == nil)
        #expect(record.creatorUserRecordID == nil)
        #expect(record.lastModifiedUserRecordID == nil)
        #expect(record.share == nil)
        #expect(record.parent == nil)
        #expect(record.changedKeys().isEmpty)
    }

    @Test("[C-03] changed keys are all that were set, also to nil; all keys are those with values")
    func keys() {
        record["title"] = "a"
        record["body"] = "b"
        record["body"] = nil
        record["never"] = nil
        #expect(record.changedKeys() == ["body", "never", "title"])
        #expect(record.allKeys() == ["title"])
    }

    @Test("[C-09] a parent reference with an action is refused, and nil clears the parent")
    func parent() {
        let parent = CKRecord(recordType: "Folder", recordID: CKRecord.ID(recordName: "f1"))
        record.setParent(parent)
        #expect(record.parent == CKRecord.Reference(recordID: parent.recordID, action: .none))
        record.parent = CKRecord.Reference(record: parent, action: .deleteSelf)
        #expect(record.parent?.action == CKRecord.ReferenceAction.none)
        record.setParent(nil)
        #expect(record.parent == nil)
        record.setParent(parent.recordID)
        #expect(record.parent?.recordID == parent.recordID)
        record.parent = nil
        #expect(record.parent == nil)
    }

    @Test("[C-22] key-value coding accepts optionals without a value, and returns dictionaries and paths")
    func keyValueDictionaries() {
        let absent: String? = nil
        record["due"] = Date()
        record.setValuesForKeys(["title": Optional("a") as Any, "note": absent as Any, "due": NSNull()])
        #expect(record.allKeys() == ["title"])
        #expect(record.changedKeys() == ["due", "note", "title"])
        let values = record.dictionaryWithValues(forKeys: ["title", "note", "recordID"])
        #expect(values["title"] as? String == "a")
        #expect(values["note"] is NSNull)
        #expect(values["recordID"] as? CKRecord.ID == record.recordID)
        let copy = CKRecord(recordType: "Note")
        copy.setValuesForKeys(record.dictionaryWithValues(forKeys: record.allKeys()))
        #expect(copy["title"] as? String == "a")

        #expect(record.value(forKeyPath: "title") as? String == "a")
        #expect(record.value(forKeyPath: "recordID.zoneID.zoneName") as? String == "_defaultZone")
        record["list"] = CKRecord.Reference(record: copy, action: .none)
        #expect(record.value(forKeyPath: "list.recordID.recordName") as? String == copy.recordID.recordName)
        #expect(record.value(forKeyPath: "title.length") == nil)
        #expect(record.value(forKeyPath: "") == nil)
    }

    @Test("[C-22] key-value coding reads and writes fields, and reads properties")
    func keyValueCoding() {
        record.setValue("a", forKey: "title")
        record.setValue(3, forKey: "count")
        record.setValuesForKeys(["title": "b", "tags": ["x", "y"], "gone": NSNull()])
        #expect(record.value(forKey: "title") as? String == "b")
        #expect(record.value(forKey: "count") as? Int == 3)
        #expect(record.value(forKey: "tags") as? [String] == ["x", "y"])
        #expect(record.value(forKey: "gone") == nil)
        let decoded: [Any] = ["x", "y"]
        record.setValuesForKeys(["any": decoded])
        #expect(record["any"] as? [String] == ["x", "y"])
        #expect(record.value(forKey: "recordID") as? CKRecord.ID == record.recordID)
        #expect(record.value(forKey: "nothing") == nil)
    }

    @Test("iteration visits the keys that have values")
    func iteration() {
        record["b"] = 2
        record["a"] = "one"
        record["c"] = nil
        var seen: [String] = []
        for (key, value) in record { seen.append("\(key)=\(value)") }
        #expect(seen == ["a=one", "b=2"])
        #expect(record.first { $0.0 == "b" }?.1 as? Int64 == 2)
    }

    @Test("values read as Swift types distinguish integers from floating-point numbers")
    func nativeValues() throws {
        record["flag"] = true
        record["count"] = 2
        record["size"] = 2.0
        record["date"] = Date(timeIntervalSinceReferenceDate: 1)
        record["bytes"] = Data([1])
        record["list"] = ["x"]
        record.encryptedValues["secret"] = 3
        func kind(_ value: (any CKRecordValueProtocol)?) -> String {
            switch value {
            case is Bool: "flag"
            case is Int64: "integer"
            case is Double: "number"
            case is String: "text"
            case is Date: "date"
            case is Data: "bytes"
            case is [String]: "texts"
            default: "?"
            }
        }
        let expected = [
            "bytes": "bytes", "count": "integer", "date": "date", "flag": "integer", "list": "texts",
            "size": "number",
        ]
        #expect(Dictionary(uniqueKeysWithValues: record.map { ($0.0, kind($0.1)) }) == expected)
        for (key, name) in expected { #expect(kind(record[key]) == name) }
        #expect(kind(record.encryptedValues["secret"]) == "integer")
        let size: (any CKRecordValueProtocol)? = record["size"]
        #expect(size as? NSNumber == 2)
        #expect(size as? any FloatingPoint != nil)
        #expect(record["count"] as? Int == 2)
        #expect(record["size"] as? Int == 2)
        #expect(record["flag"] as? Bool == true)
        #expect(record.encryptedValues["secret"] as? Int == 3)
    }

    @Test("tokens are the words of the strings in lower case, each once")
    func tokens() {
        record["title"] = "The quick, the brown"
        record["tags"] = ["Fox", "fox"]
        record["count"] = 12
        record.encryptedValues["secret"] = "hidden"
        #expect(record.allTokens() == ["brown", "fox", "quick", "the"])
    }

    @Test("a copy has the same content and is independent")
    func copying() throws {
        record["title"] = "a"
        let copy = try #require(record.copy() as? CKRecord)
        copy["title"] = "b"
        #expect(record["title"] as? String == "a")
        #expect(copy["title"] as? String == "b")
        #expect(copy.changedKeys() == ["title"])
    }
}
