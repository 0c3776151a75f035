// Dictionaries out of Foundation's unarchiver that have values of unknown classes.
//
// On Linux a dictionary whose value does not decode has fewer values than keys, and reads beyond them. A delegate keeps
// that from happening: it names a class for every unknown one. What is decoded then holds objects that nothing takes for
// a value, and is refused. The client's own delegate is asked first.

import Foundation

extension NSCoder {
    /// The object under a key, which may be a dictionary of anything; nil where there is none.
    func decodeWithStandIns(of classes: [AnyClass], forKey key: String) -> Any? {
        UnknownClassStandIn.whileSet(on: self as? NSKeyedUnarchiver) { decodeValue(of: classes, forKey: key) }
    }
}

/// Puts an object without meaning in the place of one whose class is not known.
private final class UnknownClassStandIn: NSKeyedUnarchiverDelegate {
    /// What no record holds, so that it is refused.
    private final class Unknown: NSObject, NSSecureCoding {
        static var supportsSecureCoding: Bool { true }
        init?(coder: NSCoder) { super.init() }
        func encode(with coder: NSCoder) {}
    }

    /// The client's.
    private let outer: (any NSKeyedUnarchiverDelegate)?

    private init(outer: (any NSKeyedUnarchiverDelegate)?) { self.outer = outer }

    static func whileSet(on unarchiver: NSKeyedUnarchiver?, _ decode: () -> Any?) -> Any? {
        let outer = unarchiver?.delegate
        let standIn = UnknownClassStandIn(outer: outer)
        unarchiver?.delegate = standIn
        defer { unarchiver?.delegate = outer }
        return withExtendedLifetime(standIn) { decode() }
    }

    func unarchiver(
        _ unarchiver: NSKeyedUnarchiver, cannotDecodeObjectOfClassName name: String,
        originalClasses classNames: [String]
    ) -> AnyClass? {
        outer?.unarchiver(unarchiver, cannotDecodeObjectOfClassName: name, originalClasses: classNames) ?? Unknown.self
    }

    func unarchiver(_ unarchiver: NSKeyedUnarchiver, didDecode object: Any?) -> Any? {
        outer?.unarchiver(unarchiver, didDecode: object)
    }

    func unarchiver(_ unarchiver: NSKeyedUnarchiver, willReplace object: Any, with newObject: Any) {
        outer?.unarchiver(unarchiver, willReplace: object, with: newObject)
    }

    func unarchiverWillFinish(_ unarchiver: NSKeyedUnarchiver) { outer?.unarchiverWillFinish(unarchiver) }
    func unarchiverDidFinish(_ unarchiver: NSKeyedUnarchiver) { outer?.unarchiverDidFinish(unarchiver) }
}
