// Queries, their cursors, and their form in archives.
//
// Invariants: the type and predicate of a query never change. They are read once, when the query is created; a mistake
// in them is remembered and fails every operation with the query.

public import Foundation
import StratusCloud
package import StratusRecords
import StratusStore

/// A query: the records of a type that match a predicate.
///
/// Create the predicate with `NSPredicate(format:)`, `NSPredicate(value: true)` and `NSCompoundPredicate`. CloudKit
/// takes only a part of what Foundation can express. Any other predicate fails the operation with
/// `invalidArguments` and a sentence that says what to write instead.
public final class CKQuery: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Unchecked because predicates and sort descriptors are not sendable. This class creates the predicate from a value
    // and only lends it for reading; descriptors are immutable and behind a lock.

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
        if recordType.isEmpty { StratusMisuse.note(Self.missingType) }
    }

    /// Creates a query. An empty type raises an exception on Apple's systems (C-20); here it fails the operation
    ///
    /// - Parameters:
    ///   - recordType: The type of the records.
    ///   - predicate: The condition; `NSPredicate(value: true)` for all records.
    public convenience init(recordType: CKRecord.RecordType, predicate: NSPredicate) {
        self.init(recordType: recordType, captured: CapturedPredicate(predicate), sortDescriptors: nil)
    }

    /// The condition. Every access returns a new object, because a compound can be changed.
    public var predicate: NSPredicate { captured.predicate }

    /// The order of the results; nil or empty for no order.
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

    // MARK: The server's query

    private static let missingType = "A CKQuery needs a record type."

    /// The query in the server's terms.
    /// - Parameter now: The value of `now()` in the predicate.
    /// - Returns: The query.
    /// - Throws: What CloudKit does not take.
    func clientQuery(now: Date) throws(Misuse) -> ClientQuery {
        guard !recordType.isEmpty else { throw Misuse(Self.missingType) }
        let lowered = try LoweredPredicate(try captured.content.get(), now: now)
        var sorts: [QuerySort] = []
        for descriptor in sortDescriptors ?? [] {
            guard let sort = (descriptor as? any KeyedSortDescriptor)?.querySort else {
                throw Misuse(
                    "CloudKit sorts by fields: write NSSortDescriptor(key:ascending:) or CKLocationSortDescriptor.")
            }
            sorts.append(sort)
        }
        return ClientQuery(
            recordType: recordType, filters: lowered.filters, sorts: sorts, matchesNothing: lowered.matchesNothing)
    }

    // MARK: Copying and archiving

    /// Another query with the same content.
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

    /// Decodes a query. Returns nil if type or predicate is missing, as in archives from Apple's systems.
    public convenience init?(coder: NSCoder) {
        guard let recordType = coder.decodeText(forKey: CoderKey.recordType),
            let captured = ArchivedQuery.predicate(in: coder), !ArchivedQuery.hasDamagedOrder(in: coder)
        else { return nil }
        self.init(
            recordType: recordType, captured: captured, sortDescriptors: ArchivedQuery.sortDescriptors(in: coder))
    }
}

// A cursor is immutable. The server's answers and archives create it; only the server can read its bytes. A decoded
// cursor is a claim, which the server checks.

/// Where the next page of a query begins. It includes the query. Two are equal if they mark the same position.
///
/// The class is top-level because Foundation on Linux cannot archive nested classes. Clients write
/// `CKQueryOperation.Cursor`.
public final class CKQueryCursor: NSObject, NSSecureCoding, NSCopying, Sendable {
    let bytes: [UInt8]
    /// The work of the query so far, to show its progress. It is not part of the position: archives do not contain it,
    /// so a decoded cursor begins at zero, and cursors are equal without it.
    package let work: QueryWork

    init(_ bytes: [UInt8], work: QueryWork = QueryWork()) {
        self.bytes = bytes
        self.work = work
        super.init()
    }

    public override func isEqual(_ object: Any?) -> Bool { (object as? CKQueryCursor)?.bytes == bytes }

    public override var hash: Int { bytes.hashValue }

    public override var description: String { "<CKQueryCursor: \(bytes.count) bytes>" }

    // MARK: Copying and archiving

    /// The same object, which never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    public static override func classFallbacksForKeyedArchiver() -> [String] { ["CKQueryCursor"] }

    /// Archives the cursor.
    public func encode(with coder: NSCoder) {
        let key = coder.isOfApple ? CoderKey.Apple.cursor : CoderKey.cursor
        coder.encode(NSData(data: Data(bytes)), forKey: key)
    }

    /// Decodes a cursor. Returns nil if there is none. A cursor from Apple's systems decodes like a cursor of any other
    /// server: a query refuses it.
    public convenience init?(coder: NSCoder) {
        let data = coder.decodeData(forKey: CoderKey.cursor) ?? coder.decodeData(forKey: CoderKey.Apple.cursor)
        guard let data, !data.isEmpty else { return nil }
        self.init([UInt8](data))
    }
}

// The predicate and the order of a query in an archive. Foundation on Linux archives neither.
//
// A predicate is archived as a format with a placeholder for every value, and the values in the same block format as
// those of records. Decoding parses it like any format, no matter who wrote it.

enum ArchivedQuery {
    /// One key of the order. The location of a distance is in the block of values, under the key's number.
    private struct Order: Codable {
        var key: String
        var isAscending: Bool
        var isDistance: Bool
    }

    // MARK: Predicates

    static func encode(_ predicate: CapturedPredicate, with coder: NSCoder) {
        switch predicate.content {
        case .failure(let problem): coder.encodeText(problem.text, forKey: CoderKey.misuse)
        case .success(let syntax):
            let (format, arguments) = PredicateText.format(of: syntax)
            coder.encodeText(format, forKey: CoderKey.predicateFormat)
            coder.encode(Int64(arguments.count), forKey: CoderKey.predicateArgumentCount)
            coder.encode(
                ArchivedFields.data(of: fields(of: arguments)) as NSData, forKey: CoderKey.predicateArguments)
        }
    }

    static func predicate(in coder: NSCoder) -> CapturedPredicate? {
        if let misuse = coder.decodeText(forKey: CoderKey.misuse) {
            return CapturedPredicate(.failure(Misuse(misuse)))
        }
        guard let format = coder.decodeText(forKey: CoderKey.predicateFormat),
            let block = coder.decodeData(forKey: CoderKey.predicateArguments),
            let values = ArchivedFields.fields(in: block)
        else { return nil }
        return predicate(
            format, argumentCount: coder.decodeNumber(forKey: CoderKey.predicateArgumentCount), values)
    }

    /// A predicate as one block of bytes, as the server keeps it in subscriptions: the values, with the format and
    /// their count among them. Equal predicates give equal bytes.
    static func block(of syntax: PredicateSyntax) -> [UInt8] {
        let (format, arguments) = PredicateText.format(of: syntax)
        var values = fields(of: arguments)
        values[formatKey] = HeldField(value: .string(format))
        values[countKey] = HeldField(value: .int64(Int64(arguments.count)))
        return [UInt8](ArchivedFields.data(of: values))
    }

    /// The predicate of a block, or nil if it is damaged.
    static func predicate(inBlock block: [UInt8]) -> CapturedPredicate? {
        guard let values = ArchivedFields.fields(in: Data(block)),
            case .string(let format)? = values[formatKey]?.value, case .int64(let count)? = values[countKey]?.value
        else { return nil }
        return predicate(format, argumentCount: count, values)
    }

    /// The keys of a block in addition to those of values. The server keeps blocks: never change them.
    private static let formatKey = "format"
    private static let countKey = "count"

    private static func fields(of arguments: [PredicateConstant]) -> [String: HeldField] {
        var values: [String: HeldField] = [:]
        for (number, argument) in arguments.enumerated() {
            switch argument {
            case .value(let value): values["v\(number)"] = HeldField(value: HeldValue(value))
            case .null: break
            // The name of a type, under a key that no value has.
            case .unusable(let type): values["u\(number)"] = HeldField(value: .string(type))
            }
        }
        return values
    }

    private static func predicate(
        _ format: String, argumentCount count: Int64, _ values: [String: HeldField]
    ) -> CapturedPredicate? {
        // Each argument takes at least two characters of the format, whose length is bounded.
        guard (0...Int64(PredicateParser.formatByteLimit)).contains(count) else { return nil }
        let arguments = (0..<Int(count)).map { number -> PredicateArgument in
            if let value = values["v\(number)"]?.value { return .single(.value(value.clientValue)) }
            if case .string(let type)? = values["u\(number)"]?.value { return .single(.unusable(type)) }
            return .single(.null)
        }
        guard let syntax = try? PredicateParser.parse(format, arguments: arguments) else { return nil }
        return CapturedPredicate(.success(syntax))
    }

    // MARK: Orders

    /// Archives an order. A descriptor of neither kind, which fails every query, is archived as one without a key.
    static func encode(_ descriptors: [NSSortDescriptor]?, with coder: NSCoder) {
        guard let descriptors else { return }
        let sorts = descriptors.map { ($0 as? any KeyedSortDescriptor)?.querySort }
        coder.encodeBlock(
            sorts.map {
                Order(key: $0?.key ?? "", isAscending: $0?.isAscending ?? true, isDistance: $0?.origin != nil)
            },
            forKey: CoderKey.sortOrder)
        var places: [String: HeldField] = [:]
        for (number, sort) in sorts.enumerated() {
            places["p\(number)"] = (sort?.origin).map { HeldField(value: .location(CLLocation($0))) }
        }
        coder.encode(ArchivedFields.data(of: places) as NSData, forKey: CoderKey.sortPlaces)
    }

    /// Whether an archive has an order that cannot be read, or lacks the location of a distance.
    static func hasDamagedOrder(in coder: NSCoder) -> Bool {
        guard coder.containsValue(forKey: CoderKey.sortOrder) else { return false }
        let orders = coder.decodeBlock([Order].self, forKey: CoderKey.sortOrder)
        let distanceCount = orders?.count { $0.isDistance }
        return distanceCount != places(in: coder).count
    }

    private static func places(in coder: NSCoder) -> [String: HeldField] {
        coder.decodeData(forKey: CoderKey.sortPlaces).flatMap { ArchivedFields.fields(in: $0) } ?? [:]
    }

    static func sortDescriptors(in coder: NSCoder) -> [NSSortDescriptor]? {
        guard let orders = coder.decodeBlock([Order].self, forKey: CoderKey.sortOrder) else { return nil }
        let places = places(in: coder)
        return orders.enumerated().map { number, order in
            if order.isDistance, case .location(let location)? = places["p\(number)"]?.value {
                return CKLocationSortDescriptor(key: order.key, relativeLocation: location)
            }
            return KeySortDescriptor(name: order.key.isEmpty ? nil : order.key, ascending: order.isAscending)
        }
    }
}
