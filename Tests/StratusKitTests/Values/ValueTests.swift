// Which values a record accepts, and as which types it returns them.

import Foundation
import StratusKit
import Testing

@Suite struct ValueTests {
    private let record = CKRecord(recordType: "Note")

    @Test("[C-21] a number of any type can be set, and read as every number type that can hold it")
    func numbers() {
        func check<Number: CKRecordValueProtocol & Equatable>(_ number: Number) {
            record["n"] = number
            let typed: Number? = record["n"]
            #expect(typed == number)
            #expect(record["n"] as? Number == number)
            #expect(record["n"] is NSNumber)
        }
        check(Int(-5)); check(Int8(-5)); check(Int16(-5)); check(Int32(-5)); check(Int64.min); check(Int64.max)
        check(UInt(5)); check(UInt8(5)); check(UInt16(5)); check(UInt32.max); check(UInt64(Int64.max))
        check(Double(2.5)); check(Float(2.5)); check(true); check(false)

        record["n"] = 1
        #expect(record["n"] as? Bool == true)
        #expect(record["n"] as? Double == 1)
        #expect(record["n"] as? Int64 == 1)
        record["n"] = 300
        #expect(record["n"] as? Int8 == nil)
        record["n"] = 2.5
        #expect(record["n"] as? Int == nil)
    }

    @Test("[C-21] the typed subscript converts numbers like NSNumber, and so may lose digits")
    func typedNumbers() {
        func typed<Number: CKRecordValueProtocol>(_ type: Number.Type = Number.self) -> Number? { record["n"] }
        record["n"] = 9.99
        #expect(typed(Float.self) == Float(9.99))
        #expect(typed(Int.self) == 9)
        #expect(typed(NSNumber.self)?.doubleValue == 9.99)
        #expect(typed(String.self) == nil)
        record["n"] = 300
        #expect(typed(Bool.self) == true)
        #expect(typed(Double.self) == 300)
        #expect(typed(Int8.self) == 44)
        record["n"] = -1
        #expect(typed(UInt64.self) == UInt64.max)
        for number in [Double.nan, .infinity, -.infinity, 1e300] {
            record["n"] = number
            #expect(typed(Int.self) != nil)
            #expect(typed(UInt8.self) != nil)
        }
        record["n"] = nil
        #expect(typed(Int.self) == nil)
    }

    @Test("types that Apple's compiler bridges to numbers and arrays are values")
    func bridgedTypes() {
        let (width, price) = (CGFloat(2.5), Decimal(1.5))
        record["width"] = width as any CKRecordValue
        record.setValue(width, forKey: "set")
        record["cast"] = (width as Any) as? any CKRecordValue
        record.setValue(price, forKey: "price")
        for key in ["width", "set", "cast"] {
            #expect(record[key] as? Double == 2.5)
            #expect(record[key] as? CGFloat == 2.5)
        }
        record["widths"] = [1, 2.5]
        #expect(record["widths"] as? [CGFloat] == [1, 2.5])
        record["whole"] = (1 << 53) + 1
        #expect(record["whole"] as? CGFloat == nil)
        #expect((record["widths"] as? CGFloat) == nil)
        #expect((Double(2) as Any) as? CGFloat == nil)
        #expect(record["price"] as? Double == 1.5)

        let texts: [any CKRecordValue] = ["a" as any CKRecordValue, "b" as NSString]
        record["texts"] = texts as any CKRecordValue
        #expect(record["texts"] as? [String] == ["a", "b"])
        #expect((record["texts"] as? [any CKRecordValue])?.count == 2)
        record["mixed"] = [1, 2.5] as [Any] as any CKRecordValue
        #expect(record["mixed"] as? [Double] == [1, 2.5])
        record["mixed"] = [URL(fileURLWithPath: "/")] as any CKRecordValue
        #expect(record["mixed"] as? [Double] == [1, 2.5])
    }

    @Test("[C-21] a Boolean is stored as 0 or 1")
    func truth() {
        record["flag"] = true
        #expect(record["flag"] as? Int == 1)
        record["flag"] = NSNumber(value: false)
        #expect(record["flag"] as? Int == 0)
    }

    @Test("an NSNumber keeps whether it is an integer")
    func foundationNumbers() {
        record["n"] = NSNumber(value: 2.0)
        #expect((record["n"] as? NSNumber)?.stringValue == "2.0")
        record["n"] = NSNumber(value: 2)
        #expect((record["n"] as? NSNumber)?.stringValue == "2")
        record["n"] = NSNumber(value: Int64.min)
        #expect(record["n"] as? Int64 == Int64.min)
        record["n"] = 2.0
        #expect((record["n"] as? NSNumber)?.stringValue == "2.0")
    }

    @Test("[X-25] an integer beyond the largest one of a record is a misuse, and the old value stays")
    func tooLarge() {
        record["n"] = 7
        record["n"] = UInt64(Int64.max) + 1
        #expect(record["n"] as? Int == 7)
        record["n"] = NSNumber(value: UInt64.max)
        #expect(record["n"] as? Int == 7)
        record["n"] = [UInt64.max]
        #expect(record["n"] as? Int == 7)
    }

    @Test("texts, dates, bytes, locations and references can be read as Swift and as Foundation types")
    func otherValues() {
        let date = Date(timeIntervalSinceReferenceDate: 12.5)
        let reference = CKRecord.Reference(recordID: CKRecord.ID(recordName: "r"), action: .deleteSelf)
        record["text"] = "é"
        record["date"] = date
        record["bytes"] = Data([0, 255])
        record["place"] = CLLocation(latitude: 1, longitude: 2)
        record["reference"] = reference
        #expect(record["text"] as? String == "é")
        #expect(record["text"] as? NSString == "é")
        #expect(record["date"] as? Date == date)
        #expect(record["date"] as? NSDate == date as NSDate)
        #expect(record["bytes"] as? Data == Data([0, 255]))
        #expect((record["place"] as? CLLocation)?.coordinate.longitude == 2)
        #expect(record["reference"] as? CKRecord.Reference == reference)
        #expect(record["text"] as? Int == nil)
        let typed: Date? = record["text"]
        #expect(typed == nil)
    }

    @Test("lists are returned with the elements that were set")
    func lists() {
        record["texts"] = ["a", "b"]
        record["numbers"] = [1, 2, 3]
        record["foundation"] = NSArray(array: [NSNumber(value: 1), NSNumber(value: 2)])
        record["mixed"] = NSArray(array: [NSNumber(value: 1), NSNumber(value: 2.5)])
        record["empty"] = [String]()
        record["assets"] = [CKAsset(fileURL: URL(fileURLWithPath: "/a"))]
        #expect(record["texts"] as? [String] == ["a", "b"])
        #expect(record["numbers"] as? [Int] == [1, 2, 3])
        let typed: [Int64]? = record["numbers"]
        #expect(typed == [1, 2, 3])
        #expect(record["foundation"] as? [Int] == [1, 2])
        #expect(record["mixed"] as? [Double] == [1, 2.5])
        #expect(record["empty"] as? [String] == [])
        #expect((record["assets"] as? [CKAsset])?.first?.fileURL?.path == "/a")
    }

    @Test("[C-07] a value is copied when it is set")
    func copies() {
        let text = NSMutableString(string: "a")
        let list = NSMutableArray(array: ["a"])
        record["text"] = text
        record["list"] = list
        text.append("b")
        list.add("b")
        #expect(record["text"] as? String == "a")
        #expect(record["list"] as? [String] == ["a"])
    }

    private struct Foreign: CKRecordValueProtocol {}

    @Test("[C-07][X-25] a value that no record holds is not set")
    func unsupported() {
        record["x"] = 1
        record["x"] = Foreign()
        record.setValue(URL(fileURLWithPath: "/"), forKey: "x")
        record["x"] = NSArray(array: [NSArray(array: [NSNumber(value: 1)])])
        record["x"] = [["a"]]
        record["x"] = NSArray(array: [NSNull()])
        #expect(record["x"] as? Int == 1)
        #expect(record.changedKeys() == ["x"])
    }

    @Test(
        "[L-10][X-25] a key with invalid characters is not set",
        arguments: ["", "a b", "1a", "$a", "é", "a.b", "cloudkit.other", "a-b"])
    func wrongKey(key: String) {
        record[key] = 1
        #expect(record[key] == nil)
        #expect(record.allKeys().isEmpty)
        #expect(record.changedKeys().isEmpty)
    }

    @Test(
        "[L-10] a key of letters, digits, _ and $ is set, and so are the keys of a share",
        arguments: ["a", "_a", "A1$_", "cloudkit.title", "cloudkit.type", "cloudkit.thumbnailImageData"])
    func rightKey(key: String) {
        record[key] = 1
        #expect(record[key] as? Int == 1)
    }

    @Test("[C-08] encrypted values are separate values, and accept no assets and references")
    func encrypted() {
        record.encryptedValues["secret"] = "s"
        record.encryptedValues["number"] = 5
        #expect(record.encryptedValues["secret"] as? String == "s")
        let typed: Int? = record.encryptedValues["number"]
        #expect(typed == 5)
        #expect(record["secret"] == nil)
        #expect(record.allKeys().isEmpty)
        #expect(record.encryptedValues.allKeys() == ["number", "secret"])
        #expect(record.encryptedValues.changedKeys() == ["number", "secret"])

        let reference = CKRecord.Reference(recordID: record.recordID, action: .none)
        record.encryptedValues["a"] = CKAsset(fileURL: URL(fileURLWithPath: "/a"))
        record.encryptedValues["r"] = reference
        record.encryptedValues["rs"] = [reference]
        #expect(record.encryptedValues.allKeys() == ["number", "secret"])
    }

    @Test("[C-10] an asset of a file that does not exist can be created and kept")
    func asset() {
        let asset = CKAsset(fileURL: URL(fileURLWithPath: "/does/not/exist"))
        #expect(asset.fileURL?.path == "/does/not/exist")
        record["asset"] = asset
        #expect(record["asset"] as? CKAsset === asset)
        let object: NSObject = asset
        #expect(!(object is any NSCopying))
    }

    @Test("system fields are read under their own keys")
    func systemFields() {
        record.setParent(CKRecord.ID(recordName: "p"))
        #expect((record[CKRecord.SystemFieldKey.parent] as? CKRecord.Reference)?.recordID.recordName == "p")
        #expect(record[CKRecord.SystemFieldKey.creationDate] == nil)
        #expect(record.allKeys().isEmpty)
    }
}
