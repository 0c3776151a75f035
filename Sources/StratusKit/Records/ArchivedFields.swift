// The format of a record's values in an archive: one block of bytes. Foundation's archiver takes equal objects for one
// object, so it must not see the values one by one; see `NSCoder.encodeText`.
//
//   block   version (1 byte), then fields until the end
//   field   key (text), flags (1 byte: 1 when encrypted), value
//   value   kind (1 byte), then
//           1 string: text   2 integer: 8 bytes   3 number: 8 bytes of its bits   4 date: 8 bytes of its seconds' bits
//           5 bytes: count (4 bytes), the bytes   6 location: 8 numbers   8 asset without content: nothing
//           7 reference: record name, zone name, owner name (texts), action (1 byte)
//           9 asset: digest (32 bytes), byte count (8 bytes)   10 list: count (4 bytes), values that are no lists
//           11 asset of Apple's: byte count and padded byte count (8 bytes each, negative when not known), signature
//              and reference signature (bytes), UUID (text); unknown parts of the latter are empty
//   text    count of bytes (4 bytes), UTF-8
//
// Numbers are big-endian. Clients keep archives: never change the meaning of a kind. Reading takes time and memory that
// the number of bytes bounds, and no bytes make it trap.

import Foundation
import StratusModel

/// The values of a record in an archive.
enum ArchivedFields {
    fileprivate static let version: UInt8 = 1

    fileprivate enum Kind: UInt8 {
        case string = 1
        case integer = 2
        case number = 3
        case date = 4
        case bytes = 5
        case location = 6
        case reference = 7
        case missingAsset = 8
        case asset = 9
        case list = 10
        case appleAsset = 11
    }

    static func data(of fields: [String: HeldField]) -> Data {
        var writer = ArchivedFieldWriter()
        writer.bytes.append(version)
        for (key, field) in fields.sorted(by: { $0.key < $1.key }) {
            writer.text(key)
            writer.bytes.append(field.isEncrypted ? 1 : 0)
            writer.value(field.value)
        }
        return Data(writer.bytes)
    }

    /// The values in a block. Returns nil if the block is damaged or holds a value that no record can hold.
    static func fields(in data: Data) -> [String: HeldField]? {
        var reader = ArchivedFieldReader(bytes: [UInt8](data))
        guard reader.byte() == version else { return nil }
        var fields: [String: HeldField] = [:]
        while !reader.isAtEnd {
            guard let key = reader.text(), FieldKeyRule.misuse(of: key) == nil, let flags = reader.byte(), flags <= 1,
                let value = reader.value(), flags == 0 || !value.isUnencryptable
            else { return nil }
            fields[key] = HeldField(value: value, isEncrypted: flags == 1)
        }
        return fields
    }
}

private struct ArchivedFieldWriter {
    var bytes: [UInt8] = []

    mutating func number<Number: FixedWidthInteger & UnsignedInteger>(_ number: Number) {
        for shift in stride(from: Number.bitWidth - 8, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }

    /// No value that a record may hold has a count that needs more than four bytes.
    mutating func count(_ count: Int) { number(UInt32(clamping: count)) }

    mutating func text(_ text: String) {
        count(text.utf8.count)
        bytes.append(contentsOf: text.utf8)
    }

    mutating func value(_ value: HeldValue) {
        switch value {
        case .string(let text):
            kind(.string)
            self.text(text)
        case .int64(let number):
            kind(.integer)
            self.number(UInt64(bitPattern: number))
        case .double(let number):
            kind(.number)
            self.number(number.bitPattern)
        case .date(let date):
            kind(.date)
            number(date.timeIntervalSinceReferenceDate.bitPattern)
        case .bytes(let data):
            kind(.bytes)
            self.data(data)
        case .location(let location):
            kind(.location)
            for part in location.archivedNumbers { number(part.bitPattern) }
        case .reference(let reference):
            kind(.reference)
            text(reference.recordID.recordName)
            text(reference.recordID.zoneID.zoneName)
            text(reference.recordID.zoneID.ownerName)
            bytes.append(reference.action == .deleteSelf ? 1 : 0)
        case .asset(let asset): self.asset(asset)
        case .list(let values):
            kind(.list)
            count(values.count)
            for value in values { self.value(value) }
        }
    }

    private mutating func data(_ data: Data) {
        count(data.count)
        bytes.append(contentsOf: data)
    }

    private mutating func kind(_ kind: ArchivedFields.Kind) { bytes.append(kind.rawValue) }

    private mutating func asset(_ asset: CKAsset) {
        guard let content = asset.confirmedContent, content.digest.count == 32 else {
            guard let content = asset.appleContent else { return kind(.missingAsset) }
            kind(.appleAsset)
            number(UInt64(bitPattern: content.byteCount ?? -1))
            number(UInt64(bitPattern: content.paddedByteCount ?? -1))
            data(content.signature ?? Data())
            data(content.referenceSignature ?? Data())
            return text(content.uuid ?? "")
        }
        kind(.asset)
        bytes.append(contentsOf: content.digest)
        number(UInt64(bitPattern: content.byteCount))
    }
}

private struct ArchivedFieldReader {
    let bytes: [UInt8]
    private var position = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { position == bytes.count }

    private mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
        guard count >= 0, count <= bytes.count - position else { return nil }
        defer { position += count }
        return bytes[position..<position + count]
    }

    mutating func byte() -> UInt8? { take(1)?.first }

    private mutating func number(byteCount: Int = 8) -> UInt64? {
        take(byteCount)?.reduce(0) { $0 << 8 | UInt64($1) }
    }

    private mutating func count() -> Int? { number(byteCount: 4).map { Int($0) } }

    private mutating func double() -> Double? { number().map { Double(bitPattern: $0) } }

    mutating func text() -> String? {
        guard let count = count(), let content = take(count) else { return nil }
        return String(validating: content, as: UTF8.self)
    }

    private mutating func data() -> Data? { count().flatMap { take($0) }.map { Data($0) } }

    mutating func value(isInList: Bool = false) -> HeldValue? {
        guard let kind = byte().flatMap({ ArchivedFields.Kind(rawValue: $0) }) else { return nil }
        switch kind {
        case .string: return text().map { .string($0) }
        case .integer: return number().map { .int64(Int64(bitPattern: $0)) }
        case .number: return double().map { .double($0) }
        case .date: return double().map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
        case .bytes: return data().map { .bytes($0) }
        case .location:
            let numbers = (0..<CLLocation.archivedNumberCount).compactMap { _ in double() }
            return CLLocation(archivedNumbers: numbers).map { .location($0) }
        case .reference:
            guard let recordName = text(), let zoneName = text(), let ownerName = text(), let action = byte(),
                action <= 1
            else { return nil }
            let zoneID = CKRecordZoneID(zoneName: zoneName, ownerName: ownerName)
            let recordID = CKRecordID(recordName: recordName, zoneID: zoneID)
            return .reference(CKReference(recordID: recordID, action: action == 1 ? .deleteSelf : .none))
        case .missingAsset: return .asset(CKAsset.withoutContent)
        case .asset:
            guard let digest = take(32), let count = number(), let byteCount = Int64(exactly: count) else { return nil }
            return .asset(CKAsset(archived: AssetDescriptor(digest: Array(digest), byteCount: byteCount)))
        case .appleAsset: return appleAsset()
        case .list:
            guard !isInList, let count = count() else { return nil }
            var values: [HeldValue] = []
            // Every item has at least one byte, so the number of bytes bounds the result.
            for _ in 0..<count {
                guard let value = value(isInList: true) else { return nil }
                values.append(value)
            }
            return .list(values)
        }
    }

    private mutating func appleAsset() -> HeldValue? {
        guard let byteCount = number(), let paddedByteCount = number(), let signature = data(),
            let referenceSignature = data(), let uuid = text()
        else { return nil }
        return .asset(
            CKAsset(
                apple: CKAsset.AppleContent(
                    byteCount: Int64(exactly: byteCount), paddedByteCount: Int64(exactly: paddedByteCount),
                    signature: signature.isEmpty ? nil : signature,
                    referenceSignature: referenceSignature.isEmpty ? nil : referenceSignature,
                    uuid: uuid.isEmpty ? nil : uuid)))
    }
}
