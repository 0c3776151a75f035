// Writes keyed archives as Apple's systems do, with equal bytes for equal objects.
//
// Foundation's archiver on Linux numbers objects by the order of a dictionary, which differs between processes, and
// takes equal objects for one object. This encoder writes objects depth first, in the order in which it meets them.
// Texts, dates and identifiers with the same content are written once, whether they are one object in memory or many.
// Keys, members of sets and keys of dictionaries are sorted by their text.
//
// Objects check the coder: in these archives they use Apple's keys, and our own keys for what Apple has no key for.

import Foundation

/// A coder that collects the objects of an archive.
final class ArchiveEncoder: NSCoder, AppleFormatWriter {
    private static let heightLimit = 32
    /// Classes whose objects are immutable and equal by content.
    private static let sharedClasses: Set = ["CKRecordID", "CKRecordZoneID", "NSDate", "NSNull"]

    /// The objects so far. The first one represents nil.
    private var objects: [PropertyValue] = [.string("$null")]
    /// The object that is being encoded.
    private var current: [String: PropertyValue] = [:]
    private var height = 0
    /// The numbers of texts, of objects of `sharedClasses`, and of class descriptions.
    private var texts: [[UInt8]: Int] = [:]
    private var shared: [String: Int] = [:]
    private var classes: [String: Int] = [:]
    /// The first object that could not be archived.
    private(set) var problem: StratusArchiveError?

    /// The archive of an object.
    static func data(of object: NSObject) throws(StratusArchiveError) -> Data {
        let encoder = ArchiveEncoder()
        let root = encoder.reference(to: object)
        if let problem = encoder.problem { throw problem }
        return BinaryPropertyListWriter.data(
            of: .dictionary([
                "$version": .integer(100_000), "$archiver": .string("NSKeyedArchiver"),
                "$top": .dictionary(["root": root]), "$objects": .array(encoder.objects),
            ]))
    }

    // MARK: Objects

    private func reference(to object: Any?) -> PropertyValue {
        guard let object else { return .reference(0) }
        switch object {
        case let text as NSString: return reference(toText: String(text))
        case let data as NSData: return add(.data(Data(referencing: data)))
        case let number as NSNumber: return reference(toNumber: number)
        case let date as NSDate:
            return add(className: "NSDate") { ["NS.time": .real(date.timeIntervalSinceReferenceDate)] }
        case let url as NSURL:
            return add(className: "NSURL") {
                ["NS.base": .reference(0), "NS.relative": reference(toText: url.absoluteString)]
            }
        case is NSNull: return add(className: "NSNull") { [:] }
        case let array as NSArray:
            return add(className: array is NSMutableArray ? "NSMutableArray" : "NSArray") {
                ["NS.objects": .array(array.map { reference(to: $0) })]
            }
        case let set as NSSet:
            let texts = set.allObjects.compactMap { $0 as? String }.sorted {
                $0.utf8.lexicographicallyPrecedes($1.utf8)
            }
            guard texts.count == set.count else { return reference(toCoded: object) }
            return add(className: "NSMutableSet") { ["NS.objects": .array(texts.map { reference(toText: $0) })] }
        case let dictionary as NSDictionary: return reference(toDictionary: dictionary)
        default: return reference(toCoded: object)
        }
    }

    private func reference(toText text: String) -> PropertyValue {
        let bytes = Array(text.utf8)
        if let index = texts[bytes] { return .reference(index) }
        texts[bytes] = objects.count
        // This text represents nil in an archive, so a text with this content is written as an object.
        return text == "$null"
            ? add(className: "NSString") { ["NS.string": .string(text)] } : add(.string(text))
    }

    private func reference(toNumber number: NSNumber) -> PropertyValue {
        switch try? HeldValue(holding: number) {
        case .int64(let number): add(.integer(number))
        case .double(let number): add(.real(number))
        default: refused(number)
        }
    }

    private func reference(toDictionary dictionary: NSDictionary) -> PropertyValue {
        let pairs = dictionary.compactMap { pair in (pair.key as? String).map { (key: $0, value: pair.value) } }
            .sorted { $0.key < $1.key }
        guard pairs.count == dictionary.count else { return refused(dictionary) }
        return add(className: "NSMutableDictionary") {
            let keys = pairs.map { reference(toText: $0.key) }
            return ["NS.keys": .array(keys), "NS.objects": .array(pairs.map { reference(to: $0.value) })]
        }
    }

    private func reference(toCoded object: Any) -> PropertyValue {
        guard let object = object as? any ArchivedClasses.ArchivedClass,
            let name = ArchivedClasses.appleName(of: type(of: object)), height < Self.heightLimit
        else { return refused(object) }
        return add(className: name) {
            let outer = current
            current = [:]
            height += 1
            object.encode(with: self)
            height -= 1
            defer { current = outer }
            return current
        }
    }

    private func refused(_ object: Any) -> PropertyValue {
        problem =
            problem
            ?? StratusArchiveError(
                .notArchivable,
                "An object has a class that cannot be archived, or is nested too deeply. Archive it separately.",
                ["class": "\(type(of: object))"])
        return .reference(0)
    }

    private func add(_ value: PropertyValue) -> PropertyValue {
        objects.append(value)
        return .reference(objects.count - 1)
    }

    /// Adds an object of a class. It gets its number before its parts, unless an equal object may exist already.
    private func add(className: String, _ makeContent: () -> [String: PropertyValue]) -> PropertyValue {
        let isShared = Self.sharedClasses.contains(className)
        let index = objects.count
        if !isShared { objects.append(.null) }
        var content = makeContent()
        content["$class"] = description(of: className)
        guard isShared else {
            objects[index] = .dictionary(content)
            return .reference(index)
        }
        let key = content.sorted { $0.key < $1.key }.map { "\($0.key)=\(Self.name(of: $0.value))" }
            .joined(separator: " ")
        if let index = shared[key] { return .reference(index) }
        shared[key] = objects.count
        return add(.dictionary(content))
    }

    /// Distinguishes the parts of shared objects.
    private static func name(of part: PropertyValue) -> String {
        switch part {
        case .reference(let index): "\(index)"
        case .real(let number): "\(number.bitPattern)"
        default: "\(part)"
        }
    }

    private func description(of className: String) -> PropertyValue {
        if let index = classes[className] { return .reference(index) }
        classes[className] = objects.count
        let lineage = ArchivedClasses.lineage(of: className)
        return add(
            .dictionary(["$classname": .string(className), "$classes": .array(lineage.map { .string($0) })]))
    }

    // MARK: NSCoder

    override var allowsKeyedCoding: Bool { true }
    override var requiresSecureCoding: Bool { true }

    override func encode(_ object: Any?, forKey key: String) { current[key] = reference(to: object) }
    override func encodeConditionalObject(_ object: Any?, forKey key: String) { encode(object, forKey: key) }
    override func encode(_ value: Bool, forKey key: String) { current[key] = .bool(value) }
    override func encode(_ value: Int32, forKey key: String) { current[key] = .integer(Int64(value)) }
    override func encode(_ value: Int64, forKey key: String) { current[key] = .integer(value) }
    override func encode(_ value: Int, forKey key: String) { current[key] = .integer(Int64(value)) }
    override func encode(_ value: Float, forKey key: String) { current[key] = .real(Double(value)) }
    override func encode(_ value: Double, forKey key: String) { current[key] = .real(value) }
}
