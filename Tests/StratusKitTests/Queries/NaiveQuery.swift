// Records and questions as plain values, and the correct result of a query, found by examining every record. It shares
// no code with the engine: numbers are whole halves, texts are arrays of bytes, and words are written down next to the
// texts.

/// The saving and querying person: the owner of the zones, or the one with whom a folder is shared.
enum NaivePerson: CaseIterable { case owner, guest }

/// The owner's zones, in the order of their names.
enum NaiveZone: String, CaseIterable {
    case folders = "Folders"
    case notes = "Notes"
}

/// The conditions on records.
enum NaiveField: String, CaseIterable {
    case text, count, weight, due, tags, owner
    case name = "___recordID"
    case created = "___createTime"
    case modified = "___modTime"
    case creator = "___createdBy"
    case modifier = "___modifiedBy"
    case parent = "___parent"

    static let stored: [NaiveField] = [.text, .count, .weight, .due, .tags, .owner]
    static let sorted: [NaiveField] = [.text, .count, .weight, .due, .created, .modified, .name]

    /// The names of the field in predicates.
    var spellings: [String] {
        switch self {
        case .name: [rawValue, "recordID", "recordName"]
        case .created: [rawValue, "creationDate"]
        case .modified: [rawValue, "modificationDate"]
        case .creator: [rawValue, "creatorUserRecordID"]
        case .modifier: [rawValue, "lastModifiedUserRecordID"]
        case .parent: [rawValue, "parent"]
        default: [rawValue]
        }
    }
}

enum NaiveValue {
    case text(String)
    /// Twice the number, which is saved as an integer or as a double.
    case number(halves: Int, isWhole: Bool)
    /// Half seconds since the first clock reading.
    case date(halves: Int)
    case texts([String])
    case link(NaiveZone, String)
    case person(NaivePerson)
}

struct NaiveRecord {
    var zone: NaiveZone
    var name: String
    var fields: [NaiveField: NaiveValue] = [:]
    var parent: String?
    /// In half seconds, as `NaiveValue.date` is.
    var created: Int
    var modified: Int
    var creator: NaivePerson
    var modifier: NaivePerson
}

enum NaiveRelation: CaseIterable {
    case equals, notEquals, less, lessOrEqual, greater, greaterOrEqual

    var opposite: NaiveRelation {
        switch self {
        case .equals: .notEquals
        case .notEquals: .equals
        case .less: .greaterOrEqual
        case .lessOrEqual: .greater
        case .greater: .lessOrEqual
        case .greaterOrEqual: .less
        }
    }
}

enum NaiveTest {
    case compares(NaiveRelation, NaiveValue)
    case between(NaiveValue, NaiveValue)
    case isIn([NaiveValue])
    case beginsWith(String)
    /// The list holds one of these; a single one is written with CONTAINS or ANY.
    case holdsAny([String])
    case holdsOneBeginning(String)
    /// Words as they are written, and folded.
    case words([(written: String, folded: String?)], all: Bool)
    case always(Bool)
    /// Predicates that CloudKit refuses, as they are written.
    case refused(String)
}

struct NaiveClause {
    var field = NaiveField.text
    var key = ""
    var test: NaiveTest
    var isNegated = false
}

struct NaiveSort {
    var field: NaiveField
    var key: String
    var isAscending: Bool
}

/// Which fields a schema marks.
struct NaiveMarks {
    var queryable: Set<NaiveField> = []
    var sortable: Set<NaiveField> = []
    var searchable: Set<NaiveField> = []
}

/// Faults of the naive side, each of which a comparison with the store must find.
enum NaiveFault: CaseIterable {
    case betweenIsExclusive, textsIgnoreCase, missingFailsOpposites, missingSortsLast, guestSeesAll, marksAreIgnored
}

struct NaiveQuery {
    static let recordType = "Thing"
    /// The root of the shared hierarchy.
    static let root = "folder"

    var clauses: [NaiveClause]
    var sorts: [NaiveSort]
    var asker: NaivePerson
    /// Nil for all zones of the database.
    var zone: NaiveZone?
    var fault: NaiveFault?
    /// The fields whose words are searched.
    var searchedFields: Set<NaiveField> = [.text, .tags]

    // MARK: Results

    /// The found records, in order if the query has one.
    func results(of records: [NaiveRecord]) -> [NaiveRecord] {
        let found = records.filter { record in
            (zone == nil || record.zone == zone) && isSeen(record, among: records)
                && clauses.allSatisfy { holds($0, for: record) }
        }
        return sorts.isEmpty ? found : found.sorted(by: isBefore)
    }

    /// The participant sees the root and its descendants (D-02).
    private func isSeen(_ record: NaiveRecord, among records: [NaiveRecord]) -> Bool {
        if asker == .owner || fault == .guestSeesAll { return true }
        if record.name == Self.root { return true }
        guard let parent = records.first(where: { $0.zone == record.zone && $0.name == record.parent }) else {
            return false
        }
        return isSeen(parent, among: records)
    }

    // MARK: Refusals

    /// Why the query is invalid; nil if it is valid.
    var isNoQuestion: Bool {
        clauses.contains { if case .refused = $0.test { true } else { false } }
    }

    /// The messages with which a query may be refused under a schema; none if it must be answered.
    func refusals(_ marks: NaiveMarks) -> Set<String> {
        guard fault != .marksAreIgnored else { return [] }
        var sentences: Set<String> = []
        var isNarrowed = false
        for clause in clauses {
            switch clause.test {
            case .refused: continue
            case .always(let value): if value == clause.isNegated { isNarrowed = true }
            case .words:
                isNarrowed = true
                guard marks.searchable.isEmpty else { continue }
                sentences.insert("No field of record type '\(Self.recordType)' is marked searchable")
            default:
                isNarrowed = true
                guard clause.field != .parent, !marks.queryable.contains(clause.field) else { continue }
                let key = clause.field == .name ? "recordName" : clause.key
                sentences.insert("Field '\(key)' is not marked queryable")
            }
        }
        if !isNarrowed, !marks.queryable.contains(.name) {
            sentences.insert("Field 'recordName' is not marked queryable")
        }
        for sort in sorts where !marks.sortable.contains(sort.field) {
            let key = sort.field == .name ? "recordName" : sort.key
            sentences.insert("Field '\(key)' is not marked sortable")
        }
        return sentences
    }
}

// MARK: Conditions

extension NaiveQuery {
    private func value(_ field: NaiveField, of record: NaiveRecord) -> NaiveValue? {
        switch field {
        case .name: .link(record.zone, record.name)
        case .created: .date(halves: record.created)
        case .modified: .date(halves: record.modified)
        case .creator: .person(record.creator)
        case .modifier: .person(record.modifier)
        // The parents of a shared root are for its owner only.
        case .parent where asker == .guest && record.name == Self.root: nil
        case .parent: record.parent.map { .link(record.zone, $0) }
        default: record.fields[field]
        }
    }

    private func holds(_ clause: NaiveClause, for record: NaiveRecord) -> Bool {
        let value = value(clause.field, of: record)
        switch clause.test {
        case .refused: return false
        case .always(let isTrue): return isTrue != clause.isNegated
        case .words(let words, let all):
            let wanted = words.compactMap(\.folded)
            let known = self.words(of: record)
            guard !wanted.isEmpty else { return false }
            return all ? wanted.allSatisfy(known.contains) : wanted.contains(where: known.contains)
        case .compares(let relation, let operand):
            return holds(clause.isNegated ? relation.opposite : relation, value, operand)
        default:
            guard let value else { return clause.isNegated && fault != .missingFailsOpposites }
            return passes(value, clause.test) != clause.isNegated
        }
    }

    /// NOT before an ordering is the remaining orderings, so a record without a value matches neither.
    private func holds(_ relation: NaiveRelation, _ value: NaiveValue?, _ operand: NaiveValue) -> Bool {
        guard let value else { return relation == .notEquals && fault != .missingFailsOpposites }
        switch relation {
        case .equals: return isSame(value, operand)
        case .notEquals: return !isSame(value, operand)
        case .less: return order(value, operand).map { $0 < 0 } ?? false
        case .lessOrEqual: return order(value, operand).map { $0 <= 0 } ?? false
        case .greater: return order(value, operand).map { $0 > 0 } ?? false
        case .greaterOrEqual: return order(value, operand).map { $0 >= 0 } ?? false
        }
    }

    private func passes(_ value: NaiveValue, _ test: NaiveTest) -> Bool {
        switch test {
        case .between(let low, let high):
            guard let below = order(low, value), let above = order(value, high) else { return false }
            return fault == .betweenIsExclusive ? below < 0 && above < 0 : below <= 0 && above <= 0
        case .isIn(let operands): return operands.contains { isSame(value, $0) }
        case .beginsWith(let beginning):
            guard case .text(let text) = value else { return false }
            return begins(text, beginning)
        case .holdsAny(let wanted):
            guard case .texts(let items) = value else { return false }
            return items.contains { item in wanted.contains { Array(item.utf8) == Array($0.utf8) } }
        case .holdsOneBeginning(let beginning):
            guard case .texts(let items) = value else { return false }
            return items.contains { begins($0, beginning) }
        default: return false
        }
    }

    private func begins(_ text: String, _ beginning: String) -> Bool {
        Array(text.utf8.prefix(beginning.utf8.count)) == Array(beginning.utf8)
    }

    private func words(of record: NaiveRecord) -> Set<String> {
        var words: Set<String> = []
        for field in searchedFields {
            switch record.fields[field] {
            case .text(let text)?: words.formUnion(NaiveText.words(of: text))
            case .texts(let texts)?: for text in texts { words.formUnion(NaiveText.words(of: text)) }
            default: continue
            }
        }
        return words
    }
}

// MARK: Order

extension NaiveQuery {
    private func isSame(_ one: NaiveValue, _ other: NaiveValue) -> Bool {
        switch (one, other) {
        case (.person(let one), .person(let other)): one == other
        case (.link(let zone, _), .link(let otherZone, _)) where zone != otherZone: false
        default: order(one, other) == 0
        }
    }

    /// -1, 0 or 1; nil for values that cannot be compared.
    private func order(_ one: NaiveValue, _ other: NaiveValue) -> Int? {
        switch (one, other) {
        case (.text(let one), .text(let other)):
            fault == .textsIgnoreCase ? order(one.lowercased(), other.lowercased()) : order(one, other)
        case (.number(let one, _), .number(let other, _)): (one - other).signum()
        case (.date(let one), .date(let other)): (one - other).signum()
        case (.link(_, let one), .link(_, let other)), (.link(_, let one), .text(let other)): order(one, other)
        default: nil
        }
    }

    private func order(_ one: String, _ other: String) -> Int {
        let (one, other) = (Array(one.utf8), Array(other.utf8))
        return one == other ? 0 : one.lexicographicallyPrecedes(other) ? -1 : 1
    }

    /// Records without a value come first. Zones, then names decide between equals, in the direction of the first key.
    private func isBefore(_ one: NaiveRecord, _ other: NaiveRecord) -> Bool {
        for sort in sorts {
            var difference = 0
            switch (value(sort.field, of: one), value(sort.field, of: other)) {
            case (nil, nil): continue
            case (nil, _?): difference = fault == .missingSortsLast ? 1 : -1
            case (_?, nil): difference = fault == .missingSortsLast ? -1 : 1
            case (let left?, let right?): difference = order(left, right) ?? 0
            }
            if difference != 0 { return (difference < 0) == sort.isAscending }
        }
        let zones = order(one.zone.rawValue, other.zone.rawValue)
        let names = order(one.name, other.name)
        guard zones != 0 || names != 0, let first = sorts.first else { return false }
        return ((zones != 0 ? zones : names) < 0) == first.isAscending
    }
}
