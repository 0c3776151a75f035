// Random records with edge cases in every part: names with NUL and canonical equivalents, NaN payloads, empty and long
// values, lists of every kind.

package import FoundationEssentials
import StratusLayout
package import StratusModel

/// Draws names, fields and records from a generator.
package enum RecordGenerator {
    private static let texts = [
        "", "a", "b", "ab", "a\0", "a\0b", "\u{1}", "\u{E9}", "e\u{301}", "\u{FFFD}", "\u{10FFFF}", "\u{200B}x\u{202E}",
        "folder/file.txt", "\u{65E5}\u{672C}", "\u{1F468}\u{200D}\u{1F469}", "line\nbreak\r\t\u{7F}\u{85}\u{2028}",
    ]

    package static func text(_ random: inout SplitMix64) -> String {
        if random.isOne(in: 2) { return random.element(of: texts) }
        if random.isOne(in: 30) { return String(repeating: random.element(of: ["x", "\0", "\u{FFFF}"]), count: 255) }
        var text = ""
        for _ in 0..<random.below(12) {
            let bound = random.element(of: [0x80, 0x800, 0x1_0000, 0x11_0000])
            if let scalar = Unicode.Scalar(UInt32(random.below(bound))) { text.unicodeScalars.append(scalar) }
        }
        return text
    }

    package static func name(_ random: inout SplitMix64) -> RecordName { RecordName(text(&random)) }

    /// A number of any size, small ones as often as large ones.
    package static func number(_ random: inout SplitMix64) -> UInt64 {
        random.next() >> UInt64(random.below(65) % 64)
    }

    package static func double(_ random: inout SplitMix64) -> Double {
        let edges = [0.0, -0.0, .nan, -.nan, .infinity, -.infinity, .leastNonzeroMagnitude, .greatestFiniteMagnitude]
        return random.isOne(in: 2) ? random.element(of: edges) : Double(bitPattern: random.next())
    }

    package static func date(_ random: inout SplitMix64) -> Date {
        Date(timeIntervalSinceReferenceDate: double(&random))
    }

    package static func stamp(_ random: inout SplitMix64) -> Stamp {
        Stamp(date: date(&random), user: UserName(text(&random)))
    }

    /// A value of the kind with this number, 0 to 7; 8 is a list.
    package static func value(kind: Int, _ random: inout SplitMix64) -> FieldValue {
        switch kind {
        case 0: return .string(text(&random))
        case 1: return .int64(random.element(of: [.min, .max, 0, -1, Int64(bitPattern: number(&random))]))
        case 2: return .double(double(&random))
        case 3: return .date(date(&random))
        case 4: return .bytes(random.bytes(count: random.below(40)))
        case 5:
            return .location(
                Location(
                    latitudeDegrees: double(&random), longitudeDegrees: double(&random),
                    altitudeMetres: double(&random),
                    horizontalAccuracyMetres: double(&random), verticalAccuracyMetres: double(&random),
                    courseDegrees: double(&random), speedMetresPerSecond: double(&random), timestamp: date(&random)))
        case 6:
            return .reference(
                RecordReference(target: name(&random), action: random.element(of: ReferenceAction.allCases)))
        case 7:
            return .asset(
                AssetDescriptor(digest: random.bytes(count: 32), byteCount: Int64(bitPattern: number(&random))))
        default:
            let itemKind = random.below(8)
            return .list((0..<random.below(5)).map { _ in value(kind: itemKind, &random) })
        }
    }

    package static func record(_ random: inout SplitMix64) -> StoredRecord {
        var record = Record(name: name(&random), type: RecordType(text(&random)))
        if random.isOne(in: 2) { record.parent = name(&random) }
        if random.isOne(in: 4) { record.share = name(&random) }
        for _ in 0..<random.below(9) {
            let field = Field(value(kind: random.below(9), &random), isEncrypted: random.isOne(in: 4))
            record.fields[FieldKey(text(&random))] = field
        }
        let sequence = number(&random)
        let created = stamp(&random)
        let salt = UInt32(truncatingIfNeeded: random.next())
        let system = SystemFields(
            changeSequence: sequence, tagSalt: salt, created: created,
            modified: random.isOne(in: 2) ? Stamp(date: date(&random), user: created.user) : stamp(&random))
        return StoredRecord(record: record, system: system)
    }
}
