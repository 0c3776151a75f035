// Sorting a query's results by their distance from a place.

public import Foundation
import StratusCloud

/// Sorts by the distance between a field's location and a place, nearest first.
public final class CKLocationSortDescriptor: NSSortDescriptor, NSSecureCoding, KeyedSortDescriptor {
    private let field: String
    /// The place. Its altitude does not count.
    public let relativeLocation: CLLocation

    /// Sorts by the distance from a place.
    /// - Parameters:
    ///   - key: The field.
    ///   - relativeLocation: The place.
    public init(key: String, relativeLocation: CLLocation) {
        field = key
        self.relativeLocation = relativeLocation
        super.init(keyPath: \SortedNothing.value, ascending: true)
    }

    var querySort: QuerySort? { QuerySort(key: field, origin: relativeLocation.location) }

    /// Orders records by the distance of the field's location; records without one come last.
    public override func compare(_ object1: Any, to object2: Any) -> ComparisonResult {
        let (left, right) = (distance(object1), distance(object2))
        return left == right ? .orderedSame : left < right ? .orderedAscending : .orderedDescending
    }

    private func distance(_ object: Any) -> Double {
        ((object as? CKRecord)?.value(forKey: field) as? CLLocation)?.distance(from: relativeLocation) ?? .infinity
    }

    /// The same descriptor: the server sorts by distance one way alone.
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

    /// Archives field and place.
    public func encode(with coder: NSCoder) {
        coder.encodeText(field, forKey: CoderKey.sortKey)
        coder.encode(relativeLocation, forKey: CoderKey.sortLocation)
    }

    /// Decodes a descriptor; nil where field or place is missing.
    public convenience init?(coder: NSCoder) {
        guard let key = coder.decodeText(forKey: CoderKey.sortKey),
            let location = coder.decodeValue(of: CLLocation.self, forKey: CoderKey.sortLocation)
        else { return nil }
        self.init(key: key, relativeLocation: location)
    }
}
