// How a query's predicate and order stand in an archive. Foundation on Linux archives neither.
//
// A predicate is a format with a place for every value, and the values in the block that those of records are in. What
// decodes has gone through the parser like any format, whoever wrote it.

import Foundation
import StratusCloud

enum ArchivedQuery {
    /// One key of the order. The place of a distance stands in the block of values, under the key's number.
    private struct Order: Codable {
        var key: String
        var isAscending: Bool
        var isDistance: Bool
    }

    private static let place = CKAsset.Place(record: RecordAddress(recordName: ""), key: "", in: nil)

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
            return CapturedPredicate(.failure(PredicateProblem(misuse)))
        }
        guard let format = coder.decodeText(forKey: CoderKey.predicateFormat),
            let block = coder.decodeValue(of: NSData.self, forKey: CoderKey.predicateArguments),
            let values = ArchivedFields.fields(in: Data(referencing: block))
        else { return nil }
        return predicate(
            format, argumentCount: coder.decodeNumber(forKey: CoderKey.predicateArgumentCount), values)
    }

    /// A predicate as one block of bytes, always the same ones, as subscriptions keep it on the server: the values, with
    /// the format and their count among them.
    static func block(of syntax: PredicateSyntax) -> [UInt8] {
        let (format, arguments) = PredicateText.format(of: syntax)
        var values = fields(of: arguments)
        values[formatKey] = HeldField(value: .string(format), isEncrypted: false)
        values[countKey] = HeldField(value: .int64(Int64(arguments.count)), isEncrypted: false)
        return [UInt8](ArchivedFields.data(of: values))
    }

    /// The predicate of a block; nil where it is damaged.
    static func predicate(inBlock block: [UInt8]) -> CapturedPredicate? {
        guard let values = ArchivedFields.fields(in: Data(block)),
            case .string(let format)? = values[formatKey]?.value, case .int64(let count)? = values[countKey]?.value
        else { return nil }
        return predicate(format, argumentCount: count, values)
    }

    /// The keys of a block beside those of values. The server keeps blocks: they never change.
    private static let formatKey = "format"
    private static let countKey = "count"

    private static func fields(of arguments: [PredicateConstant]) -> [String: HeldField] {
        var values: [String: HeldField] = [:]
        for (number, argument) in arguments.enumerated() {
            switch argument {
            case .value(let value):
                values["v\(number)"] = HeldField(
                    value: HeldValue(value, at: place, download: nil), isEncrypted: false)
            case .null: break
            case .unusable(let type):
                // A name of a type, which is no name of a field, and stands for no value.
                values["u\(number)"] = HeldField(value: .string(type), isEncrypted: false)
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
            if let value = values["v\(number)"]?.value {
                return .single(.value(value.clientValue(at: place, isChanged: false)))
            }
            if case .string(let type)? = values["u\(number)"]?.value { return .single(.unusable(type)) }
            return .single(.null)
        }
        guard let syntax = try? PredicateParser.parse(format, arguments: arguments) else { return nil }
        return CapturedPredicate(.success(syntax))
    }

    // MARK: Orders

    /// Archives an order. A descriptor that is of neither kind, which fails every query, is archived as one without a key.
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
            places["p\(number)"] = (sort?.origin).map {
                HeldField(value: .location(CLLocation($0)), isEncrypted: false)
            }
        }
        coder.encode(ArchivedFields.data(of: places) as NSData, forKey: CoderKey.sortPlaces)
    }

    /// Whether an archive has an order that cannot be read, or lacks the place of a distance.
    static func hasDamagedOrder(in coder: NSCoder) -> Bool {
        guard coder.containsValue(forKey: CoderKey.sortOrder) else { return false }
        let orders = coder.decodeBlock([Order].self, forKey: CoderKey.sortOrder)
        let distanceCount = orders?.count { $0.isDistance }
        return distanceCount != places(in: coder).count
    }

    private static func places(in coder: NSCoder) -> [String: HeldField] {
        let block = coder.decodeValue(of: NSData.self, forKey: CoderKey.sortPlaces)
        return block.flatMap { ArchivedFields.fields(in: Data(referencing: $0)) } ?? [:]
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
