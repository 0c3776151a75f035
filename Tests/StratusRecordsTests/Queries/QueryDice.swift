// Records and queries from a seed. Values come from small pools full of edge cases, so that they repeat: texts with one
// prefix, the ends of all numbers, places at the poles and on both sides of the 180th meridian.

import Foundation
import StratusLayout
import StratusModel
import StratusRecords
import StratusTestSupport

struct QueryDice {
    var random: SplitMix64

    static let type: RecordType = "Thing"
    /// The fields, and what they mostly hold.
    static let fields: [FieldKey] = [
        "text", "int", "real", "number", "date", "ref", "place", "mixed", "bytes", "hidden", "words", "texts", "ints",
        "refs", "places",
    ]
    static let texts: [String] = {
        let long = String(repeating: "long", count: 31)
        return [
            "", "a", "ab", "abc", "ab\u{0}", "ab\u{1}c", "A", "b", "é", "e\u{301}", "\u{10FFFF}", "\u{7F}", "ß", long,
            long + "l",
            long + "lon", long + "long", long + "longé", long + "lonéx", long + "long1", long + "long2",
            String(repeating: "é", count: 70), String(repeating: "é", count: 71) + "z",
        ]
    }()
    static let ints: [Int64] = [
        0, 1, -1, 2, 3, 7, .max, .min, .max - 1, 1 << 53, (1 << 53) + 1, (1 << 53) + 2, -(1 << 53) - 1, .min + 1,
    ]
    static let reals: [Double] = [
        0, -0.0, 1, 1.5, -1, 2.5, .nan, -.nan, .infinity, -.infinity, 0x1p53, 0x1p53 + 2, 0x1p63, -0x1p63, 1e300,
        -1e300,
        .leastNonzeroMagnitude, 6.999999999,
    ]
    static let latitudes: [Double] = [0, 90, -90, 89.9999, -89.99, 45, 45.001, -33.3]
    static let longitudes: [Double] = [0, 180, -180, 179.9999, -179.9999, 90, -90, 12.5, 12.501]
    static let wordTexts = [
        "the red fox", "Red FOX jumps", "a café in Zürich", "CAFÉ", "straße und haus", "fox", "and the of",
        "señor rojo 42",
        "αβγ ΑΒΓ", "haus-boot", "",
    ]
    static let searched = ["fox", "red", "cafe", "zurich", "haus", "42", "senor", "missing"]

    mutating func text() -> String { random.element(of: Self.texts) }

    mutating func name(below count: Int) -> RecordName { RecordName("r\(random.below(count))") }

    mutating func reference(_ names: Int = 12) -> FieldValue {
        let long = String(repeating: "n", count: 125)
        let target =
            random.isOne(in: 5) ? RecordName(long + random.element(of: ["", "aaaa", "aaab"])) : name(below: names)
        return .reference(RecordReference(target: target, action: random.isOne(in: 2) ? .none : .deleteSelf))
    }

    mutating func place() -> Location {
        var latitude = random.element(of: Self.latitudes)
        var longitude = random.element(of: Self.longitudes)
        if random.isOne(in: 3) {
            latitude = Double(random.below(180_001)) / 1000 - 90
            longitude = Double(random.below(360_001)) / 1000 - 180
        }
        if random.isOne(in: 25) { latitude = random.element(of: [.nan, 91, -.infinity]) }
        return Location(
            latitudeDegrees: latitude, longitudeDegrees: longitude, timestamp: Date(timeIntervalSinceReferenceDate: 0))
    }

    mutating func scalar(_ kind: Int) -> FieldValue {
        switch kind {
        case 0: .string(text())
        case 1: .int64(random.element(of: Self.ints))
        case 2: .double(random.element(of: Self.reals))
        case 3: .date(Date(timeIntervalSinceReferenceDate: random.element(of: Self.reals)))
        case 4: reference()
        default: .location(place())
        }
    }

    mutating func number() -> FieldValue { scalar(1 + random.below(2)) }

    mutating func list(_ kind: Int) -> FieldValue {
        var items: [FieldValue] = []
        for _ in 0..<random.below(4) { items.append(scalar(kind)) }
        // One that is too long to be entered item by item.
        if random.isOne(in: 40), kind == 1 { items += (0..<300).map { .int64($0) } }
        return .list(items)
    }

    /// The value of a field; nil if it has none.
    mutating func value(of key: FieldKey) -> FieldValue? {
        if random.isOne(in: 6) { return nil }
        switch key.text {
        case "text", "hidden": return scalar(0)
        case "int": return scalar(1)
        case "real": return scalar(2)
        case "number": return number()
        case "date": return scalar(3)
        case "ref": return reference()
        case "place": return scalar(5)
        case "bytes": return .bytes(random.bytes(count: random.below(3)))
        case "words": return .string(words())
        case "texts": return random.isOne(in: 3) ? .list([.string(words()), .string(words())]) : list(0)
        case "ints": return list(1)
        case "refs": return list(4)
        case "places": return list(5)
        default: return random.isOne(in: 5) ? list(random.below(3)) : scalar(random.below(6))
        }
    }

    mutating func words() -> String {
        if random.isOne(in: 30) { return (0..<300).map { "w\($0)" }.joined(separator: " ") }
        return random.element(of: Self.wordTexts)
    }

    mutating func record(_ name: RecordName) -> Record {
        var fields: [FieldKey: Field] = [:]
        for key in Self.fields {
            if let value = value(of: key) { fields[key] = Field(value, isEncrypted: key == "hidden") }
        }
        let type: RecordType = random.isOne(in: 8) ? "Other" : Self.type
        return Record(name: name, type: type, fields: RecordFields(fields))
    }

    // MARK: Indexes

    mutating func indexes() -> [FieldKey: QueryIndexKinds] {
        var wanted: [FieldKey: QueryIndexKinds] = [:]
        for key in Self.fields + ["___createTime", "___modTime", "___createdBy", "___modifiedBy"]
        where !random.isOne(in: 3) {
            wanted[key] = random.element(of: [.values, [.values, .missing], .all, [.values, .words], .words])
        }
        return wanted
    }

    // MARK: Queries

    mutating func field() -> QueryField {
        if random.isOne(in: 5) {
            return random.element(of: [.recordName, .created, .modified, .creator, .modifier, .parent, .share])
        }
        return .field(random.element(of: Self.fields))
    }

    /// Mostly an operand of the field's own kind.
    mutating func operand(_ field: QueryField) -> FieldValue {
        switch field {
        case .recordName: return .reference(RecordReference(target: name(below: 60), action: .none))
        case .parent: return .reference(RecordReference(target: name(below: 20), action: .none))
        case .share: return .reference(RecordReference(target: "s", action: .none))
        case .creator, .modifier:
            return .reference(RecordReference(target: random.element(of: ["alice", "bob", "eve"]), action: .none))
        case .created, .modified: return .date(Date(timeIntervalSinceReferenceDate: Double(random.below(80))))
        case .field(let key):
            if random.isOne(in: 8) { return scalar(random.below(5)) }
            guard let value = value(of: key) else { return number() }
            guard case .list(let items) = value, let item = items.first else { return value }
            return item
        }
    }

    mutating func filter() -> RecordFilter {
        let isNegated = random.isOne(in: 5)
        if random.isOne(in: 10) {
            var words: Set<String> = []
            for _ in 0...random.below(2) { words.insert(random.element(of: Self.searched)) }
            return RecordFilter(nil, random.isOne(in: 2) ? .anyWord(words) : .allWords(words), isNegated: isNegated)
        }
        let field = field()
        if [.field("place"), .field("places")].contains(field), !random.isOne(in: 4) {
            let radius = random.element(of: [1, 500, 20_000, 1e6, 8e6, 3e7, 0])
            return RecordFilter(field, .isNear(place(), radiusMetres: radius))
        }
        return RecordFilter(field, test(field), isNegated: isNegated)
    }

    private mutating func test(_ field: QueryField) -> FilterTest {
        func texts(_ random: inout SplitMix64) -> String {
            String(random.element(of: Self.texts).unicodeScalars.prefix(random.element(of: [0, 1, 2, 127, 129, 200])))
        }
        switch random.below(10) {
        case 0, 1: return .equals(operand(field))
        case 2: return .above(operand(field), isInclusive: random.isOne(in: 2))
        case 3: return .below(operand(field), isInclusive: random.isOne(in: 2))
        case 4, 5: return .isIn((0..<random.below(4)).map { _ in operand(field) })
        case 6: return .beginsWith(texts(&random))
        case 7: return .listContainsAny((0..<random.below(3)).map { _ in operand(field) })
        case 8: return .listContainsAll((0..<random.below(3)).map { _ in operand(field) })
        default: return .listMemberBeginsWith(texts(&random))
        }
    }

    mutating func query() -> RecordQuery {
        var query = RecordQuery(
            type: random.isOne(in: 10) ? "Other" : Self.type, searchedFields: ["words", "texts"],
            hidesParentsOfRoots: random.isOne(in: 3))
        if random.isOne(in: 3) { query.searchedFields = ["words"] }
        for _ in 0..<random.below(4) { query.filters.append(filter()) }
        if !query.filters.isEmpty, random.isOne(in: 4) {
            // A range with two ends.
            let field = QueryField.field(random.element(of: ["int", "real", "number", "text", "date", "mixed"]))
            query.filters.append(RecordFilter(field, .above(operand(field), isInclusive: true)))
            query.filters.append(
                RecordFilter(field, .below(operand(field), isInclusive: random.isOne(in: 2))))
        }
        for _ in 0..<random.below(3) {
            let field = field()
            let isPlace = field == .field("place")
            query.sorts.append(
                RecordSort(field, isAscending: random.isOne(in: 2), origin: isPlace ? place() : nil))
        }
        return query
    }
}
