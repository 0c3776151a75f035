// Predicates as clients create them with `NSPredicate(format: "name BEGINSWITH %@ AND age > %d", prefix, 3)`, and as
// queries keep them.
//
// Foundation on Linux has no formats: its predicates are blocks, whose content cannot be read. The predicate here keeps
// its content as a tree.

public import Foundation
import StratusCloud
import StratusModel

/// A predicate with a format. It is immutable, so a copy is the object itself.
final class FormatPredicate: NSPredicate {
    /// Its content, or the problem with its format (X-25).
    let content: Result<PredicateSyntax, Misuse>

    init(_ content: Result<PredicateSyntax, Misuse>) {
        self.content = content
        super.init(value: false)
    }

    /// Parses a format.
    convenience init(format: String, arguments: [Any?]) {
        let parsed = Result { () throws(Misuse) in
            try PredicateParser.parse(format, arguments: arguments.map { PredicateArgument($0) })
        }
        if case .failure(let problem) = parsed { StratusMisuse.note(problem.text) }
        self.init(parsed)
    }

    override func copy(with zone: NSZone? = nil) -> Any { self }

    override func isEqual(_ object: Any?) -> Bool { (object as? FormatPredicate)?.content == content }

    override var hash: Int { content.hashValue }

    /// The predicate as a format.
    override var predicateFormat: String {
        switch content {
        case .success(let syntax): PredicateText.text(of: syntax)
        case .failure(let problem): problem.text
        }
    }

    override var description: String { predicateFormat }

    /// A format is sent to a database and is not evaluated here: the result is true only for `TRUEPREDICATE`. If
    /// mistakes end the process (``StratusMisuse``), evaluating any other format does too.
    override func evaluate(with object: Any?, substitutionVariables bindings: [String: Any]?) -> Bool {
        if case .success(.always(let isTrue)) = content { return isTrue }
        StratusMisuse.note(
            "NSPredicate(format:) is not evaluated on Linux: give it to a CKQuery, or filter with a closure.")
        return false
    }
}

/// The content of a client's predicate, as a query keeps it.
struct CapturedPredicate: Hashable, Sendable {
    /// The most conditions in a compound. A client can put a compound into itself.
    private static let partLimit = 4_096

    var content: Result<PredicateSyntax, Misuse>

    init(_ content: Result<PredicateSyntax, Misuse>) { self.content = content }

    /// Reads a predicate without evaluating anything.
    init(_ predicate: NSPredicate) {
        var partCount = 0
        content = Result { () throws(Misuse) in
            try Self.syntax(of: predicate, depth: 0, &partCount)
        }
    }

    private static func syntax(
        of predicate: NSPredicate, depth: Int, _ partCount: inout Int
    ) throws(Misuse) -> PredicateSyntax {
        partCount += 1
        guard depth < PredicateParser.depthLimit, partCount <= partLimit else {
            throw Misuse("The compound predicate is too large, or contains itself.")
        }
        if let format = predicate as? FormatPredicate { return try format.content.get() }
        if let compound = predicate as? NSCompoundPredicate {
            let parts = try compound.subpredicates.map { part throws(Misuse) in
                try syntax(of: part, depth: depth + 1, &partCount)
            }
            switch compound.compoundPredicateType {
            case .and: return .and(parts)
            case .or: return .or(parts)
            case .not:
                guard let part = parts.first else { throw Misuse("A compound of NOT needs a predicate.") }
                return .not(part)
            }
        }
        // Foundation's own predicates are true, false, or a block. Comparing them does not call the block.
        if type(of: predicate) == NSPredicate.self {
            for value in [true, false] where predicate.isEqual(NSPredicate(value: value)) { return .always(value) }
        }
        throw Misuse("CloudKit cannot read a predicate with a block, or of a custom class. Use NSPredicate(format:).")
    }

    /// A predicate with the same content; a compound for a compound.
    var predicate: NSPredicate {
        switch content {
        case .success(let syntax): syntax.predicate
        case .failure: FormatPredicate(content)
        }
    }
}

extension PredicateSyntax {
    fileprivate var predicate: NSPredicate {
        switch self {
        case .always(let value): NSPredicate(value: value)
        case .comparison: FormatPredicate(.success(self))
        case .and(let parts): NSCompoundPredicate(andPredicateWithSubpredicates: parts.map(\.predicate))
        case .or(let parts): NSCompoundPredicate(orPredicateWithSubpredicates: parts.map(\.predicate))
        case .not(let part): NSCompoundPredicate(notPredicateWithSubpredicate: part.predicate)
        }
    }
}

// An initialiser of a class cannot create an object of a subclass, but an initialiser of a protocol extension can.
// Foundation's own initialisers of this name are marked unavailable, so the compiler finds these.

/// Gives `NSPredicate` its initialisers. Nothing else conforms to it.
public protocol StratusFormattedPredicate {}

extension NSPredicate: StratusFormattedPredicate {}

extension StratusFormattedPredicate where Self: NSPredicate {
    /// Creates a predicate from a format, as CloudKit's queries take it.
    ///
    /// A format that does not parse raises an exception on Apple's systems. Here the predicate remembers why, and a
    /// query with it fails with `invalidArguments` and the column of the mistake (X-25).
    /// - Parameters:
    ///   - predicateFormat: The format.
    ///   - args: The values for its placeholders: `%@` takes values, `%K` names of fields, `%d`, `%ld`, `%f` and so on
    ///     numbers.
    public init(format predicateFormat: String, _ args: Any?...) {
        self = made(FormatPredicate(format: predicateFormat, arguments: args))
    }

    /// Creates a predicate from a format, as CloudKit's queries take it.
    /// - Parameters:
    ///   - predicateFormat: The format.
    ///   - arguments: The values for its placeholders.
    public init(format predicateFormat: String, argumentArray arguments: [Any]?) {
        self = made(FormatPredicate(format: predicateFormat, arguments: arguments ?? []))
    }

    /// Replaces the variables of the predicate, which are written `$NAME`, by values.
    /// - Parameter variables: The values by name. Variables without a value stay, and fail the query.
    /// - Returns: Another predicate.
    public func withSubstitutionVariables(_ variables: [String: Any]) -> NSPredicate {
        let values = variables.compactMapValues { PredicateArgument($0).side(for: "@") }
        return CapturedPredicate(CapturedPredicate(self).content.map { $0.substituting(values) }).predicate
    }
}

/// The predicate as the requested class: `NSPredicate`, or that of compounds.
private func made<Wanted: NSPredicate>(_ predicate: FormatPredicate) -> Wanted {
    if let wanted = predicate as? Wanted { return wanted }
    guard let wanted = NSCompoundPredicate(andPredicateWithSubpredicates: [predicate]) as? Wanted else {
        preconditionFailure("A format gives an NSPredicate, not a \(Wanted.self).")
    }
    return wanted
}

/// A client's value for a placeholder of a format.
enum PredicateArgument: Hashable, Sendable {
    case single(PredicateConstant)
    /// A list or a set of values.
    case list([PredicateConstant])

    /// Converts a value of any type.
    init(_ value: Any?) {
        if let value = Self.unwrapped(value), let elements = Self.elements(of: value) {
            self = .list(elements.map { PredicateConstant($0) })
        } else {
            self = .single(PredicateConstant(value))
        }
    }

    /// The value inside any number of optionals.
    fileprivate static func unwrapped(_ value: Any?) -> Any? {
        guard var value else { return nil }
        while true {
            let mirror = Mirror(reflecting: value)
            guard mirror.displayStyle == .optional else { return value is NSNull ? nil : value }
            guard let inner = mirror.children.first?.value else { return nil }
            value = inner
        }
    }

    fileprivate static func elements(of value: Any) -> [Any]? {
        switch value {
        case let array as [Any]: array
        case let array as NSArray: Array(array)
        case let set as Set<AnyHashable>: set.map(\.base)
        case let set as NSSet: set.allObjects
        case let set as NSOrderedSet: Array(set)
        default: nil
        }
    }

    /// The side of a comparison that the value gives at a placeholder; nil if the placeholder takes another kind.
    func side(for letter: Character) -> PredicateSide? {
        switch (letter, self) {
        case ("@", .single(let constant)): .constant(constant)
        case ("@", .list(let constants)): .aggregate(constants.map { .constant($0) })
        case ("K", .single(.value(.string(let path)))): Self.path(path)
        case ("K", _), (_, .list): nil
        case (_, .single(.value(.int64(let number)))):
            Self.isFloating(letter) ? .double(Double(number)) : .integer(number)
        case (_, .single(.value(.double(let number)))):
            Self.isFloating(letter) ? .double(number) : Int64(exactly: number.rounded(.towardZero)).map { .integer($0) }
        case (_, .single): nil
        }
    }

    /// The field that a text names, or the path to it.
    static func path(_ text: String) -> PredicateSide? {
        if text.lowercased() == "self" { return .evaluatedObject }
        let names = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard names.allSatisfy({ !$0.isEmpty }) else { return nil }
        return .keyPath(names)
    }

    private static func isFloating(_ letter: Character) -> Bool { "fFeEgGaA".contains(letter) }

    /// What a placeholder takes.
    static func kind(of letter: Character) -> String {
        switch letter {
        case "@": "a value"
        case "K": "the name of a field"
        default: "a number"
        }
    }

    /// What the value is, for messages.
    var kind: String {
        switch self {
        case .list: "a list"
        case .single(.null): "nil"
        case .single(.unusable(let type)): "of the type \(type)"
        case .single(.value(let value)):
            switch value {
            case .string(let text): "the text \"\(text)\""
            case .int64(let number): "\(number)"
            case .double(let number): "\(number)"
            case .date: "a date"
            case .bytes: "data"
            case .location: "a location"
            case .reference: "a reference"
            case .asset: "an asset"
            case .list: "a list"
            }
        }
    }

    /// The result of `CAST`; nil if it depends on a record.
    static func cast(_ arguments: [PredicateSide]) -> PredicateConstant? {
        guard arguments.count == 2, case .constant(.value(.string(let type))) = arguments[1],
            case .constant(.value(let value)) = arguments[0]
        else { return nil }
        switch (type, value) {
        case ("NSDate", .int64(let number)): return .value(.date(Date(timeIntervalSinceReferenceDate: Double(number))))
        case ("NSDate", .double(let number)): return .value(.date(Date(timeIntervalSinceReferenceDate: number)))
        case ("NSDate", .date), ("NSNumber", .int64), ("NSNumber", .double), ("NSString", .string): return .value(value)
        case ("NSNumber", .date(let date)): return .value(.double(date.timeIntervalSinceReferenceDate))
        default: return nil
        }
    }
}

extension PredicateConstant {
    /// Converts a value of any type except a list.
    init(_ value: Any?) {
        switch PredicateArgument.unwrapped(value) {
        case nil: self = .null
        case let id as CKRecordID: self = .reference(id)
        case let record as CKRecord: self = .reference(record.recordID)
        // Only the target counts (Q-08).
        case let reference as CKReference: self = .reference(reference.recordID)
        case is CKAsset: self = .unusable("CKAsset")
        case let value?:
            if let held = try? HeldValue(holding: value), PredicateArgument.elements(of: value) == nil {
                self = .value(held.clientValue)
            } else {
                self = .unusable("\(type(of: value))")
            }
        }
    }

    private static func reference(_ id: CKRecordID) -> PredicateConstant {
        .value(.reference(ClientReference(target: id.address, action: .none)))
    }
}
