// Arrays and dictionaries out of archives by the class of what is in them, which Foundation on Linux does not have: clients
// keep their zones' change tokens in one dictionary.
//
// A protocol lends the methods, so that Foundation's own would be preferred to them.

public import Foundation

/// What `NSKeyedUnarchiver` is lent. Nothing else conforms to it.
public protocol StratusCollectionUnarchiving {}

extension NSKeyedUnarchiver: StratusCollectionUnarchiving {}

extension StratusCollectionUnarchiving where Self: NSKeyedUnarchiver {
    /// The array in an archive.
    /// - Parameters:
    ///   - objectClass: The class of its elements.
    ///   - data: The archive.
    /// - Returns: The array; nil where the archive holds something else.
    /// - Throws: What Foundation throws of data that is no archive, and of classes that are not expected.
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
    /// - Returns: The dictionary; nil where the archive holds something else.
    /// - Throws: What Foundation throws of data that is no archive, and of classes that are not expected.
    public static func unarchivedDictionary<Key, Value>(
        ofKeyClass keyClass: Key.Type, objectClass: Value.Type, from data: Data
    ) throws -> [Key: Value]? where Key: NSObject, Key: NSCopying, Key: NSCoding, Value: NSObject, Value: NSCoding {
        let classes: [AnyClass] = [NSDictionary.self, keyClass, objectClass]
        return try NSKeyedUnarchiver.unarchivedObject(ofClasses: classes, from: data) as? [Key: Value]
    }
}
