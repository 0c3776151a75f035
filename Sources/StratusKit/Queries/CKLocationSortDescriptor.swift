// The order of a query's results: by the distance from a location, or by the key of a field.

public import Foundation
import StratusCloud

/// Sorts by the distance between a field's location and a place (Q-13), nearest first.
public final class CKLocationSortDescriptor: NSSortDescriptor, NSSecureCoding, KeyedSortDescriptor {
    private let field: String
    /// The location. Its altitude does not count.
    public let relativeLocation: CLLocation

    /// Sorts by the distance from a location.
    /// - Parameters:
    ///   - key: The field.
    ///   - relativeLocation: The location.
    public init(key: String, relativeLocation: CLLocation) {
        field = key
        self.relativeLocation = relativeLocation
        super.init(keyPath: \SortedNothing.value, ascending: true)
    }

    var querySort: QuerySort? { QuerySort(key: field, origin: relativeLocation.location) }

    /// Orders records by the distance of the field's location. Records without a location come last.
    public override func compare(_ object1: Any, to object2: Any) -> ComparisonResult {
        let (left, right) = (distance(object1), distance(object2))
        return left == right ? .orderedSame : left < right ? .orderedAscending : .orderedDescending
    }

    private func distance(_ object: Any) -> Double {
        ((object as? CKRecord)?.value(forKey: field) as? CLLocation)?.distance(from: relativeLocation) ?? .infinity
    }

    /// The same descriptor: the server sorts by distance in one direction only.
    public override var reversedSortDescriptor: Any { self }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKLocationSortDescriptor else { return false }
        return field == other.field && relativeLocation.isEqual(other.relativeLocation)
    }

    public override var hash: Int { field.hashValue }

    public override var description: String { "(\(field), distance from \(relativeLocation))" }

    // MARK: Archiving

    /// True.
    public static var supportsSecureCoding: Bool { true }

    public static override func classFallbacksForKeyedArchiver() -> [String] { ["CKLocationSortDescriptor"] }

    /// Archives field and location.
    public func encode(with coder: NSCoder) {
        coder.encodeText(field, forKey: CoderKey.sortKey)
        coder.encode(relativeLocation, forKey: CoderKey.sortLocation)
    }

    /// Decodes a descriptor. Returns nil if field or location is missing.
    public convenience init?(coder: NSCoder) {
        guard let key = coder.decodeText(forKey: CoderKey.sortKey),
            let location = coder.decodeValue(of: CLLocation.self, forKey: CoderKey.sortLocation)
        else { return nil }
        self.init(key: key, relativeLocation: location)
    }
}

// Sort descriptors as clients write them: `NSSortDescriptor(key: "creationDate", ascending: false)`.
//
// Foundation on Linux sorts by key paths, because it has no key-value coding. `KeySortDescriptor` keeps the key; only
// an initialiser of a protocol extension can return an object of a subclass. Its underlying key path belongs to a type
// that no object has.

/// A descriptor whose key is known.
protocol KeyedSortDescriptor: NSSortDescriptor {
    /// The order in the server's terms.
    var querySort: QuerySort? { get }
}

/// The root of the key path that Foundation's class needs.
struct SortedNothing {
    let value = 0
}

/// A descriptor with a key.
final class KeySortDescriptor: NSSortDescriptor, KeyedSortDescriptor {
    let name: String?

    init(name: String?, ascending: Bool) {
        self.name = name
        super.init(keyPath: \SortedNothing.value, ascending: ascending)
    }

    var querySort: QuerySort? { name.map { QuerySort(key: $0, isAscending: ascending) } }

    /// Orders records by the values of the key. Records without a value come first. Other objects have no order.
    override func compare(_ object1: Any, to object2: Any) -> ComparisonResult {
        let result = order(object1, object2)
        guard !ascending else { return result }
        return ComparisonResult(rawValue: -result.rawValue) ?? result
    }

    private func order(_ left: Any, _ right: Any) -> ComparisonResult {
        guard let name, let left = left as? CKRecord, let right = right as? CKRecord else { return .orderedSame }
        switch (left.value(forKey: name), right.value(forKey: name)) {
        case (nil, nil): return .orderedSame
        case (nil, _): return .orderedAscending
        case (_, nil): return .orderedDescending
        case (let left as NSNumber, let right as NSNumber): return left.compare(right)
        case (let left as String, let right as String):
            return left == right ? .orderedSame : left < right ? .orderedAscending : .orderedDescending
        case (let left as Date, let right as Date): return left.compare(right)
        default: return .orderedSame
        }
    }

    override var reversedSortDescriptor: Any { KeySortDescriptor(name: name, ascending: !ascending) }

    override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? KeySortDescriptor else { return false }
        return name == other.name && ascending == other.ascending
    }

    override var hash: Int { name.hashValue }

    override var description: String { "(\(name ?? "nil"), \(ascending ? "ascending" : "descending"))" }
}

/// Gives `NSSortDescriptor` its members. Nothing else conforms to it.
public protocol StratusKeyedSorting {}

extension NSSortDescriptor: StratusKeyedSorting {}

extension StratusKeyedSorting where Self: NSSortDescriptor {
    /// Sorts by a field.
    /// - Parameters:
    ///   - key: The field, or a system field in either spelling (Q-09).
    ///   - ascending: Whether the smallest value comes first.
    public init(key: String?, ascending: Bool) {
        guard let made = KeySortDescriptor(name: key, ascending: ascending) as? Self else {
            preconditionFailure("A key and an order give an NSSortDescriptor, not a \(Self.self).")
        }
        self = made
    }

    /// The field to sort by; nil for a descriptor with a key path.
    public var key: String? { (self as? any KeyedSortDescriptor)?.querySort?.key }
}
