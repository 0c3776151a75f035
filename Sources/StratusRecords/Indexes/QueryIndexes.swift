// The indexes for queries: the values of fields, and the words of texts. Fields of the system can be indexed too
//

package import StratusLayout
package import StratusModel

/// A field of a record that a query tests or sorts by.
package enum QueryField: Hashable, Sendable {
    case field(FieldKey)
    case recordName
    case created
    case modified
    case creator
    case modifier
    case parent
    case share

    /// The field's name in the index of values; nil if it cannot have one.
    package var indexKey: FieldKey? {
        switch self {
        case .field(let key): key
        case .created: "___createTime"
        case .modified: "___modTime"
        case .creator: "___createdBy"
        case .modifier: "___modifiedBy"
        case .recordName, .parent, .share: nil
        }
    }
}

extension QueryField {
    private static let system: [QueryField] = [.created, .modified, .creator, .modifier]

    /// The field whose index has this name.
    package init(indexKey: FieldKey) {
        self = .field(indexKey)
        // Only the system's names begin so, and this is asked for every field of every record.
        guard indexKey.text.utf8.first == UInt8(ascii: "_") else { return }
        if let field = Self.system.first(where: { $0.indexKey == indexKey }) { self = field }
    }
}

extension QueryField {
    /// The field's value in a record; nil if it has none or the value is encrypted (C-08).
    package func value(in stored: StoredRecord) -> FieldValue? {
        switch self {
        case .field(let key): Self.value(of: key, in: stored)
        case .recordName: Self.reference(stored.record.name)
        case .created: .date(stored.system.created.date)
        case .modified: .date(stored.system.modified.date)
        case .creator: Self.reference(RecordName(stored.system.created.user.text))
        case .modifier: Self.reference(RecordName(stored.system.modified.user.text))
        case .parent: stored.record.parent.map(Self.reference)
        case .share: stored.record.share.map(Self.reference)
        }
    }

    /// The value of a field that is not the system's; nil if there is none or it is encrypted.
    static func value(of key: FieldKey, in stored: StoredRecord) -> FieldValue? {
        guard let field = stored.record.fields[key], !field.isEncrypted else { return nil }
        return field.value
    }

    private static func reference(_ name: RecordName) -> FieldValue {
        .reference(RecordReference(target: name, action: .none))
    }
}

extension FieldValue {
    /// The items of a list, or the value itself.
    var items: [FieldValue] {
        if case .list(let items) = self { items } else { [self] }
    }

    /// The different words of its texts, folded.
    var words: [String] {
        switch self {
        case .string(let text): SearchWords.words(of: text)
        case .list(let items): items.flatMap(\.words).onceEach
        default: []
        }
    }
}

// The zone stores for each record type which fields are indexed (`QueryIndexesEntry`). The transaction that writes a
// record reads it, so a save and a change of the indexes cannot miss each other.
//
// Invariants: a field that is not named there has no entries. If it is `ready`, every record has its entries. If it is
// `filling`, every record up to the position has them, and every one written since. If it is `clearing`, no record up
// to the position has any, and none written since. So a writer sets the entries of ready and filling fields, and
// removes those of all.

/// One entry of a field in an index for queries.
package struct QueryFact<Content: Hashable & Sendable>: Hashable, Sendable {
    package var field: FieldKey
    package var content: Content
}

/// The values and words of a live record in the indexes for queries, each once.
///
/// Arrays, because a save makes them for every record, and most fields have one value and few words.
package struct QueryFacts: Hashable, Sendable {
    package var name: RecordName
    package var type: RecordType
    package var values: [QueryFact<TupleElement>] = []
    package var words: [QueryFact<String>] = []

    /// Reads a record for the indexes that are in one of these phases. It must have at least their fields.
    package init(of stored: StoredRecord, _ indexes: QueryIndexesEntry, in phases: [QueryIndexPhase]) {
        name = stored.record.name
        type = stored.record.type
        values.reserveCapacity(indexes.fields.count)
        for (field, state) in indexes.fields where phases.contains(state.phase) {
            let value = QueryField(indexKey: field).value(in: stored)
            if state.kinds.contains(.values), let value { addValues(of: value, in: field) }
            if state.kinds.contains(.missing), !(value?.hasOrder ?? false) {
                values.append(QueryFact(field: field, content: IndexedValue.missing))
            }
            if state.kinds.contains(.words), let value { addWords(of: value, in: field) }
        }
    }

    private mutating func addValues(of value: FieldValue, in field: FieldKey) {
        guard case .list(let items) = value else {
            guard let element = IndexedValue.element(of: value) else { return }
            values.append(QueryFact(field: field, content: element))
            return
        }
        var elements = items.compactMap { IndexedValue.element(of: $0) }.onceEach
        if elements.count > IndexedValue.maximumItemCount { elements = [IndexedValue.tooMany] }
        values += elements.lazy.map { QueryFact(field: field, content: $0) }
    }

    private mutating func addWords(of value: FieldValue, in field: FieldKey) {
        var found = value.words
        if found.count > IndexedValue.maximumItemCount { found = [IndexedValue.tooManyWords] }
        words.reserveCapacity(words.count + found.count)
        for word in found { words.append(QueryFact(field: field, content: word)) }
    }
}

extension Array where Element: Hashable {
    /// Up to this number, comparing items takes less time than hashing them.
    private static var comparedCount: Int { 16 }

    /// The different items, each at its first place.
    fileprivate var onceEach: [Element] {
        guard count > 1 else { return self }
        guard count > Self.comparedCount else {
            for index in indices.dropFirst() where self[..<index].contains(self[index]) {
                return reduce(into: []) { found, item in
                    if !found.contains(item) { found.append(item) }
                }
            }
            return self
        }
        var seen = Set<Element>(minimumCapacity: count)
        return filter { seen.insert($0).inserted }
    }
}

extension QueryIndexPhase {
    /// The phases in which a writer sets entries.
    package static let written: [QueryIndexPhase] = [.ready, .filling]
    /// The phases in which there may be entries.
    package static let all: [QueryIndexPhase] = [.ready, .filling, .clearing]
}

extension FieldValue {
    /// Whether records can be sorted by the value.
    package var hasOrder: Bool {
        switch self {
        case .string, .int64, .double, .date, .reference: true
        case .bytes, .location, .asset, .list: false
        }
    }
}

/// (Type, field, value, record): the records of a type in the order of a field's values.
package enum FieldIndex: IndexRule {
    package static let keyspace = ZoneKeyspace.fields

    package static func append(_ facts: QueryFacts, in zone: ZoneKeys, to mutations: inout KeyMutations) {
        for fact in facts.values {
            mutations.set(EmptyEntry()) {
                zone.fieldEntry(
                    type: facts.type, field: fact.field, element: fact.content, name: facts.name, into: &$0)
            }
        }
    }
}

/// (Word, field, record): the records with a word in a field.
package enum TokenIndex: IndexRule {
    package static let keyspace = ZoneKeyspace.tokens

    package static func append(_ facts: QueryFacts, in zone: ZoneKeys, to mutations: inout KeyMutations) {
        for fact in facts.words {
            mutations.set(EmptyEntry()) { zone.token(fact.content, field: fact.field, name: facts.name, into: &$0) }
        }
    }
}

extension QueryIndexesEntry {
    /// Adds the wanted indexes that are missing. Indexes that change start again, and are filled unless the zone has no
    /// records of the type. The others stay as they are.
    ///
    /// Returns whether anything changed.
    mutating func add(_ wanted: [FieldKey: QueryIndexKinds], isEmpty: () throws -> Bool) rethrows -> Bool {
        var changed: [FieldKey: QueryIndexKinds] = [:]
        for (key, kinds) in wanted where !kinds.isEmpty {
            let state = fields[key]
            guard let state, state.phase != .clearing, state.kinds.isSuperset(of: kinds) else {
                changed[key] = kinds.union(state?.kinds ?? [])
                continue
            }
        }
        guard !changed.isEmpty else { return false }
        let phase: QueryIndexPhase = try isEmpty() ? .ready : .filling
        for (key, kinds) in changed { fields[key] = QueryIndexState(kinds: kinds, phase: phase) }
        if phase == .filling { position = nil }
        return true
    }

    /// Starts to clear indexes that are no longer wanted. Returns whether anything changed.
    mutating func drop(allBut wanted: [FieldKey: QueryIndexKinds]) -> Bool {
        let dropped = fields.filter { $0.value.phase != .clearing && wanted[$0.key]?.isEmpty != false }
        for (key, state) in dropped { fields[key] = QueryIndexState(kinds: state.kinds, phase: .clearing) }
        if !dropped.isEmpty { position = nil }
        return !dropped.isEmpty
    }
}

// The words of a text for full-text search: whole, in lower case, without marks on letters, without the words that
// every English text has.
//
// A word is a run of letters, digits and marks. Folded words are on disk and must always be found, so nothing here
// depends on a locale or on the Unicode version of the tools. The table of marked letters never changes. It holds the
// small Latin, Greek and Cyrillic letters whose canonical decomposition is one letter and marks, and the sigma.

/// Splits texts into folded words.
package enum SearchWords {
    /// Words that are never indexed.
    static let ignored: Set<String> = [
        "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not",
        "of",
        "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will",
        "with",
    ]

    /// The bytes of a word that count. A longer word is cut there.
    static let maximumWordByteCount = 64
    private static let longestIgnoredByteCount = ignored.lazy.map(\.utf8.count).max() ?? 0

    /// The different words of a text, in their order.
    package static func words(of text: String) -> [String] {
        var words: [String] = []
        // A word is collected as bytes: appending to a text takes several times as long.
        var word = Word()
        func end() {
            guard word.byteCount > 0 else { return }
            let isLong = word.byteCount > longestIgnoredByteCount
            let found = word.takeText()
            if isLong || !ignored.contains(found) { words.append(found) }
        }
        for scalar in text.unicodeScalars {
            if scalar.value < 0x80 {
                let byte = UInt8(truncatingIfNeeded: scalar.value)
                switch byte {
                case 0x30...0x39, 0x61...0x7A: word.append(byte)
                case 0x41...0x5A: word.append(byte + 0x20)
                default: end()
                }
                continue
            }
            switch scalar.properties.generalCategory {
            case .nonspacingMark: continue
            case .uppercaseLetter, .titlecaseLetter, .lowercaseLetter:
                for lower in scalar.properties.lowercaseMapping.unicodeScalars
                where lower.properties.generalCategory != .nonspacingMark {
                    word.append(DiacriticFolding.base(of: lower))
                }
            case .otherLetter, .modifierLetter, .decimalNumber, .letterNumber, .otherNumber, .spacingMark:
                word.append(scalar)
            default: end()
            }
        }
        end()
        return words.onceEach
    }

    /// The bytes of a word while it is read.
    private struct Word {
        /// As many as `maximumWordByteCount`.
        private var bytes: InlineArray<64, UInt8> = .init(repeating: 0)
        private(set) var byteCount = 0

        mutating func append(_ byte: UInt8) {
            guard byteCount < min(maximumWordByteCount, bytes.count) else { return }
            bytes[byteCount] = byte
            byteCount += 1
        }

        /// Appends a character whole, or not at all.
        mutating func append(_ scalar: Unicode.Scalar) {
            guard byteCount + UTF8.width(scalar) <= maximumWordByteCount else { return }
            for byte in String(scalar).utf8 { append(byte) }
        }

        /// The word; then nothing is left of it.
        mutating func takeText() -> String {
            defer { byteCount = 0 }
            guard let text = try? UTF8Span(validating: bytes.span.extracting(0..<byteCount)) else {
                preconditionFailure("Only whole characters are appended to a word.")
            }
            return String(copying: text)
        }
    }
}

/// Letters without their marks.
enum DiacriticFolding {
    /// A letter, and the same letter with marks.
    private static let groups: [(base: Unicode.Scalar, marked: String)] = [
        ("a", "àáâãäåāăąǎǟǡǻȁȃȧḁạảấầẩẫậắằẳẵặ"),
        ("b", "ḃḅḇ"),
        ("c", "çćĉċčḉ"),
        ("d", "ďḋḍḏḑḓ"),
        ("e", "èéêëēĕėęěȅȇȩḕḗḙḛḝẹẻẽếềểễệ"),
        ("f", "ḟ"),
        ("g", "ĝğġģǧǵḡ"),
        ("h", "ĥȟḣḥḧḩḫẖ"),
        ("i", "ìíîïĩīĭįǐȉȋḭḯỉị"),
        ("j", "ĵǰ"),
        ("k", "ķǩḱḳḵ"),
        ("l", "ĺļľḷḹḻḽ"),
        ("m", "ḿṁṃ"),
        ("n", "ñńņňǹṅṇṉṋ"),
        ("o", "òóôõöōŏőơǒǫǭȍȏȫȭȯȱṍṏṑṓọỏốồổỗộớờởỡợ"),
        ("p", "ṕṗ"),
        ("r", "ŕŗřȑȓṙṛṝṟ"),
        ("s", "śŝşšșṡṣṥṧṩ"),
        ("t", "ţťțṫṭṯṱẗ"),
        ("u", "ùúûüũūŭůűųưǔǖǘǚǜȕȗṳṵṷṹṻụủứừửữự"),
        ("v", "ṽṿ"),
        ("w", "ŵẁẃẅẇẉẘ"),
        ("x", "ẋẍ"),
        ("y", "ýÿŷȳẏẙỳỵỷỹ"),
        ("z", "źżžẑẓẕ"),
        ("æ", "ǣǽ"),
        ("ø", "ǿ"),
        ("ſ", "ẛ"),
        ("ʒ", "ǯ"),
        ("α", "άἀἁἂἃἄἅἆἇὰάᾀᾁᾂᾃᾄᾅᾆᾇᾰᾱᾲᾳᾴᾶᾷ"),
        ("ε", "έἐἑἒἓἔἕὲέ"),
        ("η", "ήἠἡἢἣἤἥἦἧὴήᾐᾑᾒᾓᾔᾕᾖᾗῂῃῄῆῇ"),
        ("ι", "ΐίϊἰἱἲἳἴἵἶἷὶίῐῑῒΐῖῗ"),
        ("ο", "όὀὁὂὃὄὅὸό"),
        ("ρ", "ῤῥ"),
        ("υ", "ΰϋύὐὑὒὓὔὕὖὗὺύῠῡῢΰῦῧ"),
        ("ω", "ώὠὡὢὣὤὥὦὧὼώᾠᾡᾢᾣᾤᾥᾦᾧῲῳῴῶῷ"),
        ("а", "ӑӓ"),
        ("г", "ѓ"),
        ("е", "ѐёӗ"),
        ("ж", "ӂӝ"),
        ("з", "ӟ"),
        ("и", "йѝӣӥ"),
        ("к", "ќ"),
        ("о", "ӧ"),
        ("у", "ўӯӱӳ"),
        ("ч", "ӵ"),
        ("ы", "ӹ"),
        ("э", "ӭ"),
        ("і", "ї"),
        ("ѵ", "ѷ"),
        ("ә", "ӛ"),
        ("ө", "ӫ"),
    ]

    private static let bases: [Unicode.Scalar: Unicode.Scalar] = Dictionary(
        groups.flatMap { group in group.marked.unicodeScalars.map { ($0, group.base) } }
    ) { first, _ in first }

    /// The letter without its marks.
    static func base(of letter: Unicode.Scalar) -> Unicode.Scalar {
        letter.value < 0xDF ? letter : bases[letter] ?? letter
    }
}
