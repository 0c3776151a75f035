// What a process remembers between requests never answers one where other processes write the store: a host would not
// notice what another one has changed. So every property that outlives a request is in a table, which says what it may
// be used for.
//
// A property counts if it is a variable of a class or of the process, or has a lock or a cache. A lock around a
// structure that its type declares stands for the properties in it: `state.entries`. Types whose objects live no longer
// than a request are in a list of their own.

enum RememberedStateRule {
    /// What a remembered value may do where other processes write the store.
    enum Role: Hashable {
        /// Only chooses what to read ahead, or what to try. It may answer where no other process writes.
        case guess
        /// A copy of what is in the store. Each transaction that uses it compares the two.
        case store
        /// Only used where no other process writes.
        case alone
        /// About this process alone, with what it is.
        case local(String)
    }

    /// Type → role → names of properties.
    typealias Table = [String: [Role: [String]]]

    static let page = "Tests/TidyTests/Rules/RememberedStateTable.swift"

    private static let places = [
        "Sources/StratusRecords/", "Sources/StratusCloud/", "Sources/StratusStore/", "Sources/StratusPostgres/",
        "Sources/StratusKit/Host/", "Sources/StratusKit/Sessions/", "Sources/StratusKit/LocalSocket/",
        "Sources/StratusKit/Operations/LongLivedRun.swift",
    ]
    /// Types of values that threads share.
    private static let holders: Set = [
        "Locked", "Mutex", "Atomic", "Monitor", "Condition", "TimedCondition", "NSLock", "NSRecursiveLock",
        "NSCondition", "PublishedCache", "AncestorCache", "WeakObject",
    ]

    /// `brief` has the types whose objects live no longer than a request, by the reason.
    static func findings(
        in sources: [SwiftSource], table: Table = table, brief: [String: [String]] = brief
    ) -> [Finding] {
        let remembered = sources.filter { source in places.contains(where: source.path.hasPrefix) }
            .flatMap { source in Self.remembered(in: source) }
        let briefTypes = Set(brief.values.joined())
        let lasting = remembered.filter { !briefTypes.contains($0.type) }
        let listed = listed(in: table)
        var findings = lasting.filter { listed[$0.name] == nil }.map { property in
            Finding(
                property.path, line: property.line,
                "\(property.name) outlives a request: say in \(page) what it is used for")
        }
        for name in Set(listed.keys).subtracting(lasting.map(\.name)).sorted() {
            findings.append(Finding(page, "\(name) is no property that outlives a request: remove it from the table"))
        }
        for name in listed.filter({ $0.value > 1 }).keys.sorted() {
            findings.append(Finding(page, "\(name) is in the table more than once: it has one role"))
        }
        for type in briefTypes.subtracting(remembered.map(\.type)).sorted() {
            findings.append(Finding(page, "\(type) remembers nothing: remove it from the list"))
        }
        return findings
    }

    /// The properties of a table, with how often it has them.
    private static func listed(in table: Table) -> [String: Int] {
        var names: [String: Int] = [:]
        for (type, roles) in table {
            for name in roles.values.joined() { names["\(type).\(name)", default: 0] += 1 }
        }
        return names
    }

    private struct Remembered {
        let path: String
        let line: Int
        let type: String
        /// With the type in front.
        let name: String
    }

    /// The properties of a file that may outlive a request, structures under a lock replaced by what is in them.
    private static func remembered(in source: SwiftSource) -> [Remembered] {
        let properties = source.storedProperties
        let structures = Dictionary(grouping: properties.filter { !$0.isOfClass && !$0.isStatic }, by: \.type)
        return properties.flatMap { property -> [Remembered] in
            let isShared = !holders.isDisjoint(with: property.words)
            guard isShared || property.isVariable && (property.isOfClass || property.isStatic) else { return [] }
            let type = property.type.isEmpty ? source.path : property.type
            let inner = lockedType(of: property).flatMap { structures["\(property.type).\($0)"] }
            return (inner ?? [property]).map { found in
                let name = inner == nil ? property.name : "\(property.name).\(found.name)"
                return Remembered(path: source.path, line: found.line, type: type, name: "\(type).\(name)")
            }
        }
    }

    /// The type in `Locked<State>` or `Locked(State())`; nil if it is within another one.
    private static func lockedType(of property: StoredProperty) -> String? {
        guard let index = property.words.firstIndex(of: "Locked") else { return nil }
        let words = property.words[(index + 1)...].prefix(3).map { $0 }
        guard words.count == 3, ["<", "("].contains(words[0]), [">", "("].contains(words[2]) else { return nil }
        return words[1]
    }
}
