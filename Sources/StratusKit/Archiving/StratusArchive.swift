// Archives from untrusted sources, archives in Apple's format, and the classes and errors of both.

public import Foundation

/// Decodes archives from outside, such as from another user, a network or a file. Writes archives in the format of
/// Apple's systems.
///
/// `NSKeyedUnarchiver` on Linux ends the process on some damaged archives. A host that takes archives from its clients
/// should decode them here: any bytes either decode as an archive or are refused with an error, in time and memory
/// that their number bounds. Archives of `NSKeyedArchiver` are understood, from Linux and from Apple's systems, in the
/// binary format and in XML.
///
/// Nothing is dropped silently: an archive with a part that is not understood is refused with `notUnderstood`.
/// Only security data and caches of Apple's servers and devices, and paths of files, are not read.
///
/// Decoded objects are still claims of the archive's author. Assets have no file, so an archive cannot name a file of
/// the host.
public enum StratusArchive {
    /// The default for the largest archive to read, in bytes. A record has at most one megabyte, and its archive twice
    /// as much, because it also contains the values as fetched.
    public static let defaultByteCountLimit = 4 << 20

    /// Decodes an object: a record, a zone, one of their identifiers, a reference, an asset, a location, an identity,
    /// an operation group, a share, its metadata, a participant, a change token, a query, its cursor, a subscription or
    /// its notifications.
    ///
    /// A record also decodes from an archive of its system fields (`encodeSystemFields(with:)`).
    /// - Parameters:
    ///   - type: The class of the object.
    ///   - data: The archive.
    ///   - byteCountLimit: The largest archive to read, in bytes.
    /// - Returns: The object.
    /// - Throws: An error that says what is wrong with the archive.
    public static func decode<Object>(
        _ type: Object.Type, from data: Data, byteCountLimit: Int = defaultByteCountLimit
    ) throws(StratusArchiveError) -> Object where Object: NSObject, Object: NSSecureCoding {
        let decoder = try decoder(of: data, byteCountLimit: byteCountLimit)
        let root = decoder.rootObject()
        var object = root.object
        // The keys of the object may be in the archive directly.
        if !root.isPresent, ArchivedClasses.isKnown(type) {
            object = decoder.makeObject(of: type, named: ArchivedClasses.appleName(of: type) ?? "")
        }
        if let problem = decoder.problem { throw problem }
        guard let object = object as? Object else { throw wrongClass(type, object) }
        return object
    }

    /// Decodes an array of objects of one class.
    /// - Parameters:
    ///   - type: The class of the objects.
    ///   - data: The archive.
    ///   - byteCountLimit: The largest archive to read, in bytes.
    /// - Returns: The objects.
    /// - Throws: An error that says what is wrong with the archive.
    public static func decodeArray<Object>(
        of type: Object.Type, from data: Data, byteCountLimit: Int = defaultByteCountLimit
    ) throws(StratusArchiveError) -> [Object] where Object: NSObject, Object: NSSecureCoding {
        let decoder = try decoder(of: data, byteCountLimit: byteCountLimit)
        let root = decoder.rootObject().object
        if let problem = decoder.problem { throw problem }
        guard let array = root as? NSArray else { throw wrongClass(NSArray.self, root) }
        return try array.map { element throws(StratusArchiveError) in
            guard let object = element as? Object else { throw wrongClass(type, element as? NSObject) }
            return object
        }
    }

    /// Archives an object in the format of Apple's systems. It decodes there and here.
    ///
    /// Equal objects give equal bytes in every process, so you may compare archives. `NSKeyedArchiver` does not promise
    /// this on Linux. Classes and keys have Apple's names. Data that Apple's format has no key for is archived under
    /// our own keys, which begin with `Stratus` and are ignored elsewhere. Queries, subscriptions and their parts use
    /// only such keys.
    /// - Parameter object: Any object that ``decode(_:from:byteCountLimit:)`` decodes. Assets are archived without
    ///   their files.
    /// - Returns: The archive, a binary property list.
    /// - Throws: An error with the code `notArchivable` if something in the object is of another class.
    public static func data<Object>(of object: Object) throws(StratusArchiveError) -> Data
    where Object: NSObject, Object: NSSecureCoding {
        try ArchiveEncoder.data(of: object)
    }

    /// Archives an array of objects in the format of Apple's systems; see ``data(of:)-(Object)``.
    /// - Parameter objects: Objects that ``decodeArray(of:from:byteCountLimit:)`` decodes.
    /// - Returns: The archive, a binary property list.
    /// - Throws: An error with the code `notArchivable` if something in the objects is of another class.
    public static func data<Object>(of objects: [Object]) throws(StratusArchiveError) -> Data
    where Object: NSObject, Object: NSSecureCoding {
        try ArchiveEncoder.data(of: NSArray(array: objects))
    }

    private static func decoder(of data: Data, byteCountLimit: Int) throws(StratusArchiveError) -> ArchiveDecoder {
        guard data.count <= byteCountLimit else {
            throw StratusArchiveError(
                .tooLarge, "The archive is larger than allowed.",
                ["byteCount": "\(data.count)", "limit": "\(byteCountLimit)"])
        }
        let isXML = XMLPropertyList.isLikely(data)
        return try ArchiveDecoder(isXML ? XMLPropertyList.value(of: data) : BinaryPropertyList.value(of: data))
    }

    private static func wrongClass(_ type: NSObject.Type, _ object: NSObject?) -> StratusArchiveError {
        StratusArchiveError(
            .wrongClass, "The archive contains another object than the expected one, or part of one.",
            ["expected": "\(type)", "found": object.map { "\(Swift.type(of: $0))" } ?? "nothing"])
    }
}

/// The reason why an archive does not decode, or an object cannot be archived.
public struct StratusArchiveError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kinds of refusals. Later versions may add more.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The name of the code, for logs.
        public let rawValue: String

        /// A code with this name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The archive is larger than the given limit.
        public static let tooLarge = Code(rawValue: "tooLarge")
        /// The data is not a keyed archive.
        public static let notAnArchive = Code(rawValue: "notAnArchive")
        /// The archive contradicts itself.
        public static let damaged = Code(rawValue: "damaged")
        /// The archive contains another object than the expected one.
        public static let wrongClass = Code(rawValue: "wrongClass")
        /// The archive has a part that Stratus does not understand or support. `fields` names it.
        public static let notUnderstood = Code(rawValue: "notUnderstood")
        /// The object cannot be archived: part of it is of a class that archives cannot contain.
        public static let notArchivable = Code(rawValue: "notArchivable")
    }

    /// The kind of refusal.
    public let code: Code
    /// The problem.
    public let message: String
    /// The variables of the message: names and numbers.
    public let fields: [String: String]

    init(_ code: Code, _ message: StaticString, _ fields: [String: String] = [:]) {
        self.code = code
        self.message = "\(message)"
        self.fields = fields
    }

    /// A line for a log.
    public var description: String {
        let variables = fields.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        return "\(code.rawValue): \(message)\(variables)"
    }
}

// Casts between a `StratusArchiveError` and an `NSError`, in both directions. Apple's runtime has them built in for
// every error; without them, `catch let error as NSError` ends the process on Linux (see `CKError`).

extension StratusArchiveError: CustomNSError, _ObjectiveCBridgeable {
    /// `StratusArchiveErrorDomain`.
    public static var errorDomain: String { "StratusArchiveErrorDomain" }

    /// Always 1: `code` distinguishes the errors. It is open, as a number cannot be.
    public var errorCode: Int { 1 }

    /// The description for people, and the error itself.
    public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: description, Self.errorDomain: self] }

    /// The error as an `NSError`: the result of `as? NSError`.
    public func _bridgeToObjectiveC() -> NSError {
        NSError(domain: Self.errorDomain, code: errorCode, userInfo: errorUserInfo)
    }

    /// The error that an object was created from; nil for others.
    public static func _conditionallyBridgeFromObjectiveC(
        _ source: NSError, result: inout StratusArchiveError?
    ) -> Bool {
        result = source.domain == errorDomain ? source.userInfo[errorDomain] as? StratusArchiveError : nil
        return result != nil
    }

    /// The same as the conditional cast. The compiler does not call it for errors.
    public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout StratusArchiveError?) {
        _ = _conditionallyBridgeFromObjectiveC(source, result: &result)
    }

    /// The error that the object was created from; otherwise an error that the data is not an archive. The compiler
    /// does not call it for errors.
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> StratusArchiveError {
        var found: StratusArchiveError?
        if let source { _ = _conditionallyBridgeFromObjectiveC(source, result: &found) }
        return found ?? StratusArchiveError(.notAnArchive, "An error of another kind.")
    }
}

// The classes in archives, and their names.
//
// Apple's systems archive the Objective-C names; Foundation on Linux adds the module before them. Both decode.
// `NSKeyedUnarchiver` knows the names because they are registered when the process is loaded, before a client can have
// an archive; `StratusArchive` looks here.
//
// Some names belong to classes that clients do not see: the parts of Apple's records, shares and people.

/// The classes that can be archived.
enum ArchivedClasses {
    typealias ArchivedClass = NSObject & NSSecureCoding

    /// Every class by the name it has on Apple's systems.
    private static let all: [String: any ArchivedClass.Type] = [
        "CKRecord": CKRecord.self, "CKRecordID": CKRecordID.self, "CKRecordZoneID": CKRecordZoneID.self,
        "CKReference": CKReference.self, "CKAsset": CKAsset.self, "CKRecordZone": CKRecordZone.self,
        "CKUserIdentity": CKUserIdentity.self, "CKUserIdentityLookupInfo": CKUserIdentityLookupInfo.self,
        "CKShare": CKShare.self, "CKShareParticipant": CKShareParticipant.self,
        "CKShareMetadata": CKShareMetadata.self, "CKShareAccessRequester": CKShareAccessRequester.self,
        "CKShareBlockedIdentity": CKShareBlockedIdentity.self,
        "CKAllowedSharingOptions": CKAllowedSharingOptions.self, "CLLocation": CLLocation.self,
        "CKOperationGroup": CKOperationGroup.self, "CKServerChangeToken": CKServerChangeToken.self,
        "CKFetchRecordZoneChangesConfiguration": CKFetchRecordZoneChangesConfiguration.self,
        // The older name of configurations.
        "CKFetchRecordZoneChangesOptions": CKFetchRecordZoneChangesConfiguration.self,
        "CKQuery": CKQuery.self, "CKQueryCursor": CKQueryCursor.self,
        "CKLocationSortDescriptor": CKLocationSortDescriptor.self,
        "CKQuerySubscription": CKQuerySubscription.self, "CKDatabaseSubscription": CKDatabaseSubscription.self,
        "CKRecordZoneSubscription": CKRecordZoneSubscription.self, "CKNotificationInfo": CKNotificationInfo.self,
        "CKNotificationID": CKNotificationID.self,
        // Parts of Apple's objects.
        "CKRecordValueStore": ArchivedValueStore.self, "CKEncryptedRecordValueStore": ArchivedEncryptedValueStore.self,
        "CKContainerID": ArchivedContainerID.self, "_NSPersonNameComponentsData": ArchivedNameParts.self,
        // Reads the same as Foundation's class of this name, and also Apple's form.
        "NSPersonNameComponents": ArchivedPersonName.self,
    ]

    /// The classes between a class and `NSObject` on Apple's systems.
    private static let parents = [
        "CKShare": ["CKRecord"], "CKEncryptedRecordValueStore": ["CKRecordValueStore"],
        "CKQuerySubscription": ["CKSubscription"], "CKDatabaseSubscription": ["CKSubscription"],
        "CKRecordZoneSubscription": ["CKSubscription"], "CKLocationSortDescriptor": ["NSSortDescriptor"],
        "NSMutableArray": ["NSArray"], "NSMutableDictionary": ["NSDictionary"], "NSMutableSet": ["NSSet"],
    ]

    /// The class that an archive names, by the name on Apple's systems or here.
    static func type(named name: String) -> (any ArchivedClass.Type)? { all[appleName(name)] }

    /// A class's name on Apple's systems.
    static func appleName(_ name: String) -> String {
        let ownPrefix = "StratusKit."
        return name.hasPrefix(ownPrefix) ? String(name.dropFirst(ownPrefix.count)) : name
    }

    /// The name of an object's class in Apple's archives; nil for a class that is never archived.
    static func appleName(of type: NSObject.Type) -> String? {
        type.classFallbacksForKeyedArchiver().first { all[$0] != nil }
    }

    /// The names of a class and its superclasses on Apple's systems.
    static func lineage(of name: String) -> [String] { [name] + (parents[name] ?? []) + ["NSObject"] }

    /// Whether a class is listed, which means that its decoder never traps.
    static func isKnown(_ type: NSObject.Type) -> Bool { all.values.contains { $0 == type } }

    /// Lets Foundation decode archives from Apple's systems.
    static func register() {
        for (name, type) in all { NSKeyedUnarchiver.setClass(type, forClassName: name) }
    }
}

/// Called when the process is loaded; see the target `CStratusSystem`.
@_cdecl("stratus_register_class_names")
func registerArchivedClassNames() {
    ArchivedClasses.register()
}

// Arrays and dictionaries from archives by the class of their elements, which Foundation on Linux lacks. Clients keep
// their zones' change tokens in one dictionary.
//
// The methods are in a protocol extension, so that the compiler will prefer Foundation's own.

/// Gives `NSKeyedUnarchiver` its methods. Nothing else conforms to it.
public protocol StratusCollectionUnarchiving {}

extension NSKeyedUnarchiver: StratusCollectionUnarchiving {}

extension StratusCollectionUnarchiving where Self: NSKeyedUnarchiver {
    /// The array in an archive.
    /// - Parameters:
    ///   - objectClass: The class of its elements.
    ///   - data: The archive.
    /// - Returns: The array; nil if the archive contains anything else.
    /// - Throws: Foundation's error for data that is not an archive, or for unexpected classes.
    public static func unarchivedArrayOfObjects<Element>(
        ofClass objectClass: Element.Type, from data: Data
    ) throws -> [Element]? where Element: NSObject, Element: NSCoding {
        try NSKeyedUnarchiver.unarchivedObject(ofClasses: [NSArray.self, objectClass], from: data) as? [Element]
    }

    /// The dictionary in an archive.
    /// - Parameters:
    ///   - keyClass: The class of its keys.
    ///   - objectClass: The class of its values.
    ///   - data: The archive.
    /// - Returns: The dictionary; nil if the archive contains anything else.
    /// - Throws: Foundation's error for data that is not an archive, or for unexpected classes.
    public static func unarchivedDictionary<Key, Value>(
        ofKeyClass keyClass: Key.Type, objectClass: Value.Type, from data: Data
    ) throws -> [Key: Value]? where Key: NSObject, Key: NSCopying, Key: NSCoding, Value: NSObject, Value: NSCoding {
        let classes: [AnyClass] = [NSDictionary.self, keyClass, objectClass]
        return try NSKeyedUnarchiver.unarchivedObject(ofClasses: classes, from: data) as? [Key: Value]
    }
}
