// Decodes a keyed archive without Foundation's unarchiver, which ends the process on some damaged ones.
//
// Invariants: only classes of ArchivedClasses and the plain ones of Foundation are ever made, whatever the archive
// names; an object is made, or found to be damaged, once; handing out a container that many places hold costs its size
// each time, from a budget. So time and memory are bounded by the archive's size. Circles end at the object that is
// under way, and an object's height, the longest way down from it, is bounded: letting a taller one go would run out of
// stack. The first thing wrong is kept in `problem`, because decoders cannot throw.

import Foundation

/// A coder over a property list that was read without trust.
final class ArchiveDecoder: NSCoder {
    private static let heightLimit = 32
    private static let keyLimit = 1_024

    private let objects: [PropertyValue]
    /// The object that is being decoded.
    private var current: [String: PropertyValue]
    private var made: [Int: MadeObject] = [:]
    private var underWay: Set<Int> = []
    /// The height of the tallest object that was handed out for the one that is being made.
    private var tallestPart = 0
    /// How many elements of containers may still be handed out.
    private var elementBudget: Int
    private(set) var problem: StratusArchiveError?
    private let top: [String: PropertyValue]

    private struct MadeObject {
        /// Nil for an object that is damaged, or of a class that is not known.
        var object: NSObject?
        var height: Int
    }

    init(_ archive: PropertyValue) throws(StratusArchiveError) {
        guard let list = archive.dictionary, list["$archiver"]?.string == "NSKeyedArchiver",
            let top = list["$top"]?.dictionary, let objects = list["$objects"]?.array
        else { throw StratusArchiveError(.notAnArchive, "The property list is no keyed archive.") }
        self.objects = objects
        self.top = top
        current = top
        elementBudget = 65_536 + 16 * objects.count
        super.init()
    }

    /// The object that the archive is of; nil where it has keys of its own, as one of system fields has.
    func rootObject() -> (isPresent: Bool, object: NSObject?) {
        guard let root = top["root"] else { return (false, nil) }
        return (true, root.reference.flatMap { object(at: $0) })
    }

    private func note(_ message: StaticString, _ index: Int) {
        problem = problem ?? StratusArchiveError(.damaged, message, ["object": "\(index)"])
    }

    /// The object of a number; nil for none, for one of a class that is not known, and for a damaged one.
    private func object(at index: Int) -> NSObject? {
        guard objects.indices.contains(index) else {
            note("The archive names an object that it does not have.", index)
            return nil
        }
        if let known = made[index] {
            tallestPart = max(tallestPart, known.height)
            return known.object.flatMap { pay(for: $0, index) }
        }
        guard underWay.count < Self.heightLimit, underWay.insert(index).inserted else {
            note("The archive nests too deep or in a circle.", index)
            return nil
        }
        let outerTallest = tallestPart
        tallestPart = 0
        var object = makeObject(at: index)
        let height = tallestPart + 1
        underWay.remove(index)
        if height > Self.heightLimit {
            note("The archive nests too deep.", index)
            object = nil
        }
        made[index] = MadeObject(object: object, height: object == nil ? 0 : height)
        tallestPart = max(outerTallest, height)
        return object.flatMap { pay(for: $0, index) }
    }

    /// An object, unless it is a container and the budget is spent.
    private func pay(for object: NSObject, _ index: Int) -> NSObject? {
        elementBudget -= (object as? NSArray)?.count ?? (object as? NSDictionary)?.count ?? 0
        if elementBudget >= 0 { return object }
        note("The archive has its containers in too many places.", index)
        return nil
    }

    private func makeObject(at index: Int) -> NSObject? {
        switch objects[index] {
        case .string(let text): text == "$null" ? nil : NSString(string: text)
        case .integer(let number): NSNumber(value: number)
        case .real(let number): NSNumber(value: number)
        case .bool(let flag): NSNumber(value: flag)
        case .data(let data): NSData(data: data)
        case .date(let seconds): NSDate(timeIntervalSinceReferenceDate: seconds)
        case .dictionary(let content): makeObject(of: content, at: index)
        case .null, .reference, .array: nil
        }
    }

    private func makeObject(of content: [String: PropertyValue], at index: Int) -> NSObject? {
        guard let classIndex = content["$class"]?.reference, objects.indices.contains(classIndex),
            let name = objects[classIndex].dictionary?["$classname"]?.string
        else {
            note("An object of the archive has no class.", index)
            return nil
        }
        switch name {
        case "NSDate":
            return content["NS.time"]?.double.map { NSDate(timeIntervalSinceReferenceDate: $0) }
        case "NSString", "NSMutableString":
            return content["NS.string"]?.string.map { NSString(string: $0) }
        case "NSData", "NSMutableData":
            if case .data(let data)? = content["NS.data"] { return NSData(data: data) }
            return nil
        case "NSURL":
            return content["NS.relative"]?.reference.flatMap { object(at: $0) as? NSString }.flatMap {
                NSURL(string: String($0))
            }
        case "NSArray", "NSMutableArray":
            return NSArray(array: members(of: content, "NS.objects").compactMap { $0 })
        case "NSDictionary", "NSMutableDictionary":
            return dictionary(of: content, at: index)
        default:
            guard let type = ArchivedClasses.type(named: name) else { return nil }
            let outer = current
            current = content
            defer { current = outer }
            let object = (type as any NSCoding.Type).init(coder: self) as? NSObject
            return (object as? CKShare)?.isDamaged == true ? nil : object
        }
    }

    private func members(of content: [String: PropertyValue], _ key: String) -> [NSObject?] {
        (content[key]?.array ?? []).map { $0.reference.flatMap { object(at: $0) } }
    }

    private func dictionary(of content: [String: PropertyValue], at index: Int) -> NSDictionary? {
        let keys = members(of: content, "NS.keys")
        let values = members(of: content, "NS.objects")
        guard keys.count == values.count else {
            note("A dictionary of the archive has keys without values.", index)
            return nil
        }
        // Foundation's dictionaries slow down when somebody chooses keys of one hash; a record has 256 fields (L-06).
        guard keys.count <= Self.keyLimit else {
            note("A dictionary of the archive has too many keys.", index)
            return nil
        }
        var pairs: [String: NSObject] = [:]
        for case (let key as NSString, let value?) in zip(keys, values) { pairs[String(key)] = value }
        return NSDictionary(dictionary: pairs)
    }

    // MARK: NSCoder

    override var allowsKeyedCoding: Bool { true }
    override var requiresSecureCoding: Bool { true }

    override func containsValue(forKey key: String) -> Bool { current[key] != nil }

    override func decodeObject(forKey key: String) -> Any? {
        current[key]?.reference.flatMap { object(at: $0) }
    }

    override func decodeObject<Object>(of type: Object.Type, forKey key: String) -> Object?
    where Object: NSObject, Object: NSCoding {
        decodeObject(forKey: key) as? Object
    }

    override func decodeObject(of classes: [AnyClass]?, forKey key: String) -> Any? {
        guard let object = decodeObject(forKey: key) as? NSObject else { return nil }
        return classes?.contains { object.isKind(of: $0) } == false ? nil : object
    }

    override func decodeBool(forKey key: String) -> Bool { decodeInt64(forKey: key) != 0 }

    override func decodeInt64(forKey key: String) -> Int64 {
        guard let index = current[key]?.reference else { return current[key]?.number ?? 0 }
        return objects.indices.contains(index) ? objects[index].number ?? 0 : 0
    }

    override func decodeInt32(forKey key: String) -> Int32 { Int32(clamping: decodeInt64(forKey: key)) }

    override func decodeInteger(forKey key: String) -> Int { Int(clamping: decodeInt64(forKey: key)) }

    override func decodeDouble(forKey key: String) -> Double {
        guard let index = current[key]?.reference else { return current[key]?.double ?? 0 }
        return objects.indices.contains(index) ? objects[index].double ?? 0 : 0
    }

    override func decodeFloat(forKey key: String) -> Float { Float(decodeDouble(forKey: key)) }
}
