// What is asked of a database: the records of a type for which a predicate holds, in an order.
//
// Invariants: type and predicate never change, and are looked into once, when the query is made; a mistake in them is
// remembered and fails every operation that is given the query.

public import Foundation
import StratusCloud
import StratusStore

/// The records of a type for which a predicate holds.
///
/// Predicates are made with `NSPredicate(format:)`, `NSPredicate(value: true)` and `NSCompoundPredicate`. What CloudKit
/// takes of them is less than Foundation knows: what it does not take fails the operation with
/// `invalidArguments` and a sentence that says what to write instead.
public final class CKQuery: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Unchecked because predicates and sort descriptors are not sendable: the predicate is made by this class of a value
    // and lent for reading, and descriptors stand behind a lock and are immutable.

    /// The type of the records.
    public let recordType: CKRecord.RecordType
    private let captured: CapturedPredicate
    private let descriptors: Locked<Descriptors>

    private struct Descriptors: @unchecked Sendable {
        // Unchecked because descriptors never change.
        var list: [NSSortDescriptor]?
    }

    private init(recordType: String, captured: CapturedPredicate, sortDescriptors: [NSSortDescriptor]?) {
        self.recordType = recordType
        self.captured = captured
        descriptors = Locked(Descriptors(list: sortDescriptors))
        super.init()
        if recordType.isEmpty {
            var memory: String?
            StratusMisuse.note(Self.missingType, in: &memory)
        }
    }

    /// A query. An empty type raises an exception on Apple's systems (C-20); here it fails the operation.
    /// - Parameters:
    ///   - recordType: The type of the records.
    ///   - predicate: What must hold for them; `NSPredicate(value: true)` for all.
    public convenience init(recordType: CKRecord.RecordType, predicate: NSPredicate) {
        self.init(recordType: recordType, captured: CapturedPredicate(predicate), sortDescriptors: nil)
    }

    /// What must hold for the records. Each time an object of its own, because a compound can be changed.
    public var predicate: NSPredicate { captured.predicate }

    /// The order of the results; nil or none for no order.
    public var sortDescriptors: [NSSortDescriptor]? {
        get { descriptors.withLock { $0 }.list }
        set {
            let value = Descriptors(list: newValue)
            descriptors.withLock { $0 = value }
        }
    }

    public override var description: String {
        "<CKQuery: \(recordType), \(predicate), sorted by \(sortDescriptors ?? [])>"
    }

    // MARK: What the server is asked

    private static let missingType = "A CKQuery has a record type."

    /// The query in the server's words.
    /// - Parameter now: What `now()` is in the predicate.
    /// - Returns: The query.
    /// - Throws: What CloudKit does not take.
    func clientQuery(now: Date) throws(PredicateProblem) -> ClientQuery {
        guard !recordType.isEmpty else { throw PredicateProblem(Self.missingType) }
        let lowered = try PredicateLowering.lower(try captured.content.get(), now: now)
        var sorts: [QuerySort] = []
        for descriptor in sortDescriptors ?? [] {
            guard let sort = (descriptor as? any KeyedSortDescriptor)?.querySort else {
                throw PredicateProblem(
                    "CloudKit sorts by fields: write NSSortDescriptor(key:ascending:) or CKLocationSortDescriptor.")
            }
            sorts.append(sort)
        }
        return ClientQuery(
            recordType: recordType, filters: lowered.filters, sorts: sorts, matchesNothing: lowered.matchesNothing)
    }

    // MARK: Copying and archiving

    /// Another query that asks the same.
    public func copy(with zone: NSZone? = nil) -> Any {
        CKQuery(recordType: recordType, captured: captured, sortDescriptors: sortDescriptors)
    }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    public static override func classFallbacksForKeyedArchiver() -> [String] { ["CKQuery"] }

    /// Archives the query, mistakes included.
    public func encode(with coder: NSCoder) {
        coder.encodeText(recordType, forKey: CoderKey.recordType)
        ArchivedQuery.encode(captured, with: coder)
        ArchivedQuery.encode(sortDescriptors, with: coder)
    }

    /// Decodes a query; nil where type or predicate is missing, as in archives from Apple's systems.
    public convenience init?(coder: NSCoder) {
        guard let recordType = coder.decodeText(forKey: CoderKey.recordType),
            let captured = ArchivedQuery.predicate(in: coder), !ArchivedQuery.hasDamagedOrder(in: coder)
        else { return nil }
        self.init(
            recordType: recordType, captured: captured, sortDescriptors: ArchivedQuery.sortDescriptors(in: coder))
    }
}
