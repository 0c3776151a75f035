// Predicates as clients write them: `NSPredicate(format: "name BEGINSWITH %@ AND age > %d", prefix, 3)`.
//
// An initialiser of a class cannot make an object of a subclass, but one that a protocol lends can. Foundation's own
// initialisers of this name are marked unavailable, so that these are found.

public import Foundation

/// What `NSPredicate` is lent. Nothing else conforms to it.
public protocol StratusFormattedPredicate {}

extension NSPredicate: StratusFormattedPredicate {}

extension StratusFormattedPredicate where Self: NSPredicate {
    /// A predicate of a format, as CloudKit's queries take it.
    ///
    /// A format that does not parse raises an exception on Apple's systems; here the predicate remembers why, and the query
    /// that is given it fails with `invalidArguments` and the column where the format goes wrong (X-25).
    /// - Parameters:
    ///   - predicateFormat: The format.
    ///   - args: The values for its places: `%@` takes values, `%K` the names of fields, `%d`, `%ld`, `%f` and so on
    ///     numbers.
    public init(format predicateFormat: String, _ args: Any?...) {
        self = made(FormatPredicate(format: predicateFormat, arguments: args))
    }

    /// A predicate of a format, as CloudKit's queries take it.
    /// - Parameters:
    ///   - predicateFormat: The format.
    ///   - arguments: The values for its places.
    public init(format predicateFormat: String, argumentArray arguments: [Any]?) {
        self = made(FormatPredicate(format: predicateFormat, arguments: arguments ?? []))
    }

    /// The predicate with values in the place of its variables, which are written `$NAME`.
    /// - Parameter variables: The values by name. Variables without one stay, and fail the query.
    /// - Returns: Another predicate.
    public func withSubstitutionVariables(_ variables: [String: Any]) -> NSPredicate {
        let values = variables.compactMapValues { PredicateArgument($0).side(for: "@") }
        return CapturedPredicate(CapturedPredicate(self).content.map { $0.substituting(values) }).predicate
    }
}

/// A predicate as the class that asks for it, which is `NSPredicate` or that of compounds.
private func made<Wanted: NSPredicate>(_ predicate: FormatPredicate) -> Wanted {
    if let wanted = predicate as? Wanted { return wanted }
    guard let wanted = NSCompoundPredicate(andPredicateWithSubpredicates: [predicate]) as? Wanted else {
        preconditionFailure("Formats make objects of NSPredicate itself, and not of \(Wanted.self).")
    }
    return wanted
}
