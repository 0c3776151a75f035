// Archives from people one does not trust, and archives in Apple's format.

public import Foundation

/// Decodes archives that came from outside: from another user, over a network, out of a file. Writes archives in the
/// format of Apple's systems.
///
/// `NSKeyedUnarchiver` on Linux ends the process on some damaged archives. A host that takes archives from its clients
/// decodes them here: an archive decodes or is refused with an error, whatever its bytes are, in time and memory that
/// its size bounds. Archives that `NSKeyedArchiver` wrote are understood, from here and from Apple's systems, in the
/// binary format and in XML.
///
/// Nothing is dropped in silence: an archive with a part that is not understood is refused with `notUnderstood`.
/// Left out are security data and caches of Apple's servers and devices, and paths of files.
///
/// What decodes is still a claim of the archive's author. Assets have no file, so that nobody can name a file of the
/// host's.
public enum StratusArchive {
    /// The largest archive that is read unless another size is given, in bytes. A record has at most one megabyte, and
    /// its archive twice that, because it holds the values as fetched too.
    public static let defaultByteCountLimit = 4 << 20

    /// Decodes an object: a record, a zone, one of their identifiers, a reference, an asset, a location, an identity, a
    /// group of operations, a share, its metadata, a participant, a change token, a query, its cursor, a
    /// subscription and its notifications.
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
        let object = root.isPresent ? root.object : fields(of: type, in: decoder)
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
        var objects: [Object] = []
        for element in array {
            guard let object = element as? Object else { throw wrongClass(type, element as? NSObject) }
            objects.append(object)
        }
        return objects
    }

    /// Archives an object in the format of Apple's systems, so that it decodes there and here.
    ///
    /// Equal objects give equal bytes, in every process: clients may compare archives. `NSKeyedArchiver` does not promise
    /// that on Linux. Classes and keys have Apple's names; what Apple's format has no place for stands under keys of our
    /// own, which begin with `Stratus` and are passed over elsewhere. Queries, subscriptions and their parts are archived
    /// under such keys alone.
    /// - Parameter object: Whatever ``decode(_:from:byteCountLimit:)`` decodes. Assets are archived without their files.
    /// - Returns: The archive, a binary property list.
    /// - Throws: An error with the code `notArchivable` if something in the object is of another class.
    public static func data<Object>(of object: Object) throws(StratusArchiveError) -> Data
    where Object: NSObject, Object: NSSecureCoding {
        try ArchiveEncoder.data(of: object)
    }

    /// Archives an array of objects in the format of Apple's systems; see ``data(of:)-(Object)``.
    /// - Parameter objects: What ``decodeArray(of:from:byteCountLimit:)`` decodes.
    /// - Returns: The archive, a binary property list.
    /// - Throws: An error with the code `notArchivable` if something in the objects is of another class.
    public static func data<Object>(of objects: [Object]) throws(StratusArchiveError) -> Data
    where Object: NSObject, Object: NSSecureCoding {
        try ArchiveEncoder.data(of: NSArray(array: objects))
    }

    private static func decoder(of data: Data, byteCountLimit: Int) throws(StratusArchiveError) -> ArchiveDecoder {
        guard data.count <= byteCountLimit else {
            throw StratusArchiveError(
                .tooLarge, "The archive is larger than is allowed.",
                ["byteCount": "\(data.count)", "limit": "\(byteCountLimit)"])
        }
        let isXML = XMLPropertyList.isLikely(data)
        return try ArchiveDecoder(isXML ? XMLPropertyList.value(of: data) : BinaryPropertyList.value(of: data))
    }

    /// An object whose fields stand in the archive directly.
    private static func fields<Object>(of type: Object.Type, in decoder: ArchiveDecoder) -> NSObject?
    where Object: NSObject, Object: NSSecureCoding {
        guard ArchivedClasses.isKnown(type) else { return nil }
        let object = type.init(coder: decoder)
        guard let object, (object as? CKShare)?.isDamaged != true else { return nil }
        decoder.noteUnaskedKeys(className: ArchivedClasses.appleName(of: type) ?? "")
        return object
    }

    private static func wrongClass(_ type: NSObject.Type, _ object: NSObject?) -> StratusArchiveError {
        StratusArchiveError(
            .wrongClass, "The archive holds another object than was asked for, or a part of one.",
            ["expected": "\(type)", "found": object.map { "\(Swift.type(of: $0))" } ?? "nothing"])
    }
}
