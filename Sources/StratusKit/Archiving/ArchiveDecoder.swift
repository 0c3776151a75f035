// Decodes a keyed archive without Foundation's unarchiver, which ends the process on some damaged archives.
//
// Invariants: only classes of `ArchivedClasses` and Foundation's plain ones are created, whatever an archive names.
// Each object is created, or found to be damaged, once. Returning a container in many places costs its size each time,
// from a budget. So the size of the archive bounds time and memory. A circle ends at the object that is being decoded.
// An object's height, the longest path down from it, is bounded: releasing a taller one would overflow the stack. The
// first problem is kept in `problem`, because decoders cannot throw.
//
// Nothing is dropped. It is a problem if an object is requested and cannot be created: because it is damaged, or
// its class is unknown or not the expected one. It is also a problem if a key has a value and the decoder of its object
// did not ask for it, unless `ArchivedKeys` lists the key.

import Foundation

/// A coder over an untrusted property list.
final class ArchiveDecoder: NSCoder, ArchiveReader {
    private static let heightLimit = 32
    private static let keyLimit = 1_024

    private let objects: [PropertyValue]
    /// The object that is being decoded.
    private var current: [String: PropertyValue]
    /// The keys of that object that were requested.
    private var asked: Set<String> = []
    private var made: [Int: MadeObject] = [:]
    private var underWay: Set<Int> = []
    /// The height of the tallest object that was returned for the current object.
    private var tallestPart = 0
    /// How many elements of containers may still be returned.
    private var elementBudget: Int
    private(set) var problem: StratusArchiveError?
    private let top: [String: PropertyValue]

    private struct MadeObject {
        /// Nil for a damaged object, or one of an unknown class.
        var object: NSObject?
        var height: Int
    }

    init(_ archive: PropertyValue) throws(StratusArchiveError) {
        guard let list = archive.dictionary, list["$archiver"]?.string == "NSKeyedArchiver",
            let top = list["$top"]?.dictionary, let objects = list["$objects"]?.array
        else { throw StratusArchiveError(.notAnArchive, "The property list is not a keyed archive.") }
        self.objects = objects
        self.top = top
        current = top
        elementBudget = 65_536 + 16 * objects.count
        super.init()
    }

    /// The archive's root object; nil if the archive has the keys of an object itself, like an archive of system
    /// fields.
    func rootObject() -> (isPresent: Bool, object: NSObject?) {
        guard let root = top["root"] else { return (false, nil) }
        let made = root.reference.flatMap { object(at: $0) }
        asked = ["root"]
        noteUnaskedKeys(className: "$top")
        return (true, made)
    }

    private func note(_ message: StaticString, _ index: Int) {
        problem = problem ?? StratusArchiveError(.damaged, message, ["object": "\(index)"])
    }

    /// Notes a problem, and returns nothing in place of a value.
    private func refuse<Value>(_ message: StaticString, _ index: Int) -> Value? {
        note(message, index)
        return nil
    }

    func noteUnknown(_ message: StaticString, _ fields: [String: String]) {
        problem = problem ?? StratusArchiveError(.notUnderstood, message, fields)
    }

    /// Reports the keys of the current object that have a value and were not requested.
    /// - Parameter className: Apple's name of the object's class.
    private func noteUnaskedKeys(className: String) {
        guard problem == nil else { return }
        let unknown = current.keys.filter { key in
            key != "$class" && !asked.contains(key) && !ArchivedKeys.isLeftOut(key, of: className)
                && !isEmpty(current[key] ?? .null)
        }
        guard let key = unknown.min() else { return }
        noteUnknown(
            "The archive has a part that Stratus does not understand. Decode it on the system that wrote it.",
            ["class": className, "key": key])
    }

    /// Whether a value means the same as a missing one.
    private func isEmpty(_ value: PropertyValue) -> Bool {
        switch value {
        case .null: true
        case .bool(let flag): !flag
        case .integer(let number): number == 0
        case .real(let number): number == 0
        case .data(let data): data.isEmpty
        case .string(let text): text.isEmpty
        case .array(let values): values.isEmpty
        case .date, .dictionary: false
        case .reference(let index): objects.indices.contains(index) && isEmptyObject(objects[index])
        }
    }

    private func isEmptyObject(_ object: PropertyValue) -> Bool {
        switch object {
        case .string(let text): text.isEmpty || text == "$null"
        case .dictionary(let content): content["NS.objects"]?.array?.isEmpty ?? false
        // An object is never a reference. Following one could lead into a circle.
        case .reference: false
        default: isEmpty(object)
        }
    }

    /// The object with a number; nil if it is missing, damaged or of an unknown class.
    private func object(at index: Int) -> NSObject? {
        guard objects.indices.contains(index) else {
            return refuse("The archive refers to an object that it does not contain.", index)
        }
        if let known = made[index] {
            tallestPart = max(tallestPart, known.height)
            return known.object.flatMap { pay(for: $0, index) }
        }
        guard underWay.count < Self.heightLimit, underWay.insert(index).inserted else {
            return refuse("The archive is nested too deeply or in a circle.", index)
        }
        let outerTallest = tallestPart
        tallestPart = 0
        var object = makeObject(at: index)
        let height = tallestPart + 1
        underWay.remove(index)
        if height > Self.heightLimit {
            note("The archive is nested too deeply.", index)
            object = nil
        }
        if object == nil, objects[index].string != "$null" { note("An object of the archive is damaged.", index) }
        made[index] = MadeObject(object: object, height: object == nil ? 0 : height)
        tallestPart = max(outerTallest, height)
        return object.flatMap { pay(for: $0, index) }
    }

    /// The object, unless it is a container and the budget is used up.
    private func pay(for object: NSObject, _ index: Int) -> NSObject? {
        elementBudget -=
            (object as? NSArray)?.count ?? (object as? NSDictionary)?.count ?? (object as? NSSet)?.count ?? 0
        return elementBudget >= 0 ? object : refuse("The archive refers to its containers too often.", index)
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
        else { return refuse("An object of the archive has no class.", index) }
        switch name {
        case "NSDate":
            return content["NS.time"]?.double.map { NSDate(timeIntervalSinceReferenceDate: $0) }
        case "NSString", "NSMutableString":
            return content["NS.string"]?.string.map { NSString(string: $0) }
        case "NSData", "NSMutableData":
            if case .data(let data)? = content["NS.data"] { return NSData(data: data) }
            return nil
        case "NSURL":
            let base = content["NS.base"]?.reference.flatMap { object(at: $0) } as? NSURL
            guard let relative = content["NS.relative"]?.reference.flatMap({ object(at: $0) }) as? NSString else {
                return nil
            }
            return NSURL(string: String(relative), relativeTo: base.map { $0 as URL })
        case "NSNull": return NSNull()
        case "NSArray", "NSMutableArray":
            return members(of: content, "NS.objects", at: index).map { NSArray(array: $0) }
        case "NSSet", "NSMutableSet":
            // A set of texts: these archives contain no other sets.
            guard let texts = members(of: content, "NS.objects", at: index) as? [NSString],
                hasFewKeys(texts.count, index)
            else { return nil }
            return NSSet(array: texts)
        case "NSDictionary", "NSMutableDictionary": return dictionary(of: content, at: index)
        default:
            guard let type = ArchivedClasses.type(named: name) else {
                noteUnknown(
                    "An object of the archive has an unknown class. Decode it on the system that wrote it.",
                    ["class": name])
                return nil
            }
            let outer = (current, asked)
            (current, asked) = (content, [])
            defer { (current, asked) = outer }
            return makeObject(of: type, named: ArchivedClasses.appleName(name))
        }
    }

    /// An object of this class from the keys that are current; nil if it is damaged.
    func makeObject(of type: any ArchivedClasses.ArchivedClass.Type, named name: String) -> NSObject? {
        let object = (type as any NSCoding.Type).init(coder: self) as? NSObject
        guard let object, (object as? CKShare)?.isDamaged != true else { return nil }
        noteUnaskedKeys(className: name)
        return object
    }

    /// The members of a container; nil if one is missing.
    private func members(of content: [String: PropertyValue], _ key: String, at index: Int) -> [NSObject]? {
        var members: [NSObject] = []
        for member in content[key]?.array ?? [] {
            guard let object = member.reference.flatMap({ object(at: $0) }) else {
                return refuse("A container of the archive lacks a member.", index)
            }
            members.append(object)
        }
        return members
    }

    private func dictionary(of content: [String: PropertyValue], at index: Int) -> NSDictionary? {
        guard let keys = members(of: content, "NS.keys", at: index),
            let values = members(of: content, "NS.objects", at: index), hasFewKeys(keys.count, index)
        else { return nil }
        guard keys.count == values.count else {
            return refuse("A dictionary of the archive has keys without values.", index)
        }
        var pairs: [String: NSObject] = [:]
        for (key, value) in zip(keys, values) {
            guard let key = (key as? NSString).map({ String($0) }), pairs.updateValue(value, forKey: key) == nil else {
                return refuse("A dictionary of the archive has a key that is not a text, or one key twice.", index)
            }
        }
        return NSDictionary(dictionary: pairs)
    }

    /// Foundation's dictionaries become slow if someone chooses keys with equal hashes. A record has at most 256 fields
    /// (L-06).
    private func hasFewKeys(_ count: Int, _ index: Int) -> Bool {
        if count <= Self.keyLimit { return true }
        note("A dictionary or a set of the archive has too many keys.", index)
        return false
    }

    // MARK: NSCoder

    override var allowsKeyedCoding: Bool { true }
    override var requiresSecureCoding: Bool { true }

    /// Returns the value of a key and marks the key as read.
    private func value(forKey key: String) -> PropertyValue? {
        asked.insert(key)
        return current[key]
    }

    override func containsValue(forKey key: String) -> Bool { value(forKey: key) != nil }

    override func decodeObject(forKey key: String) -> Any? {
        guard let value = value(forKey: key) else { return nil }
        guard let index = value.reference else {
            return refuse("A key of the archive has a plain value instead of an object.", 0)
        }
        return object(at: index)
    }

    override func decodeObject<Object>(of type: Object.Type, forKey key: String) -> Object?
    where Object: NSObject, Object: NSCoding {
        decodeObject(of: [type], forKey: key) as? Object
    }

    override func decodeObject(of classes: [AnyClass]?, forKey key: String) -> Any? {
        guard let object = decodeObject(forKey: key) as? NSObject else { return nil }
        if classes?.contains(where: { object.isKind(of: $0) }) != false { return object }
        return refuse("An object of the archive has another class than its key expects.", current[key]?.reference ?? 0)
    }

    override func decodeBool(forKey key: String) -> Bool { decodeInt64(forKey: key) != 0 }

    override func decodeInt64(forKey key: String) -> Int64 { number(forKey: key, \.number) ?? 0 }

    override func decodeInt32(forKey key: String) -> Int32 { Int32(clamping: decodeInt64(forKey: key)) }

    override func decodeInteger(forKey key: String) -> Int { Int(clamping: decodeInt64(forKey: key)) }

    override func decodeDouble(forKey key: String) -> Double { number(forKey: key, \.double) ?? 0 }

    override func decodeFloat(forKey key: String) -> Float { Float(decodeDouble(forKey: key)) }

    /// The number under a key, which may be a separate object; nil if there is none.
    private func number<Number>(forKey key: String, _ number: (PropertyValue) -> Number?) -> Number? {
        guard var value = value(forKey: key) else { return nil }
        if let index = value.reference {
            guard objects.indices.contains(index) else {
                return refuse("The archive refers to an object that it does not contain.", index)
            }
            value = objects[index]
            if value.string == "$null" { return nil }
        }
        let result = number(value)
        if result == nil { note("A key of the archive has a value that is not a number.", 0) }
        return result
    }
}
