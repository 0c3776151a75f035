// Names of people: their form in Apple's archives, and between server and Foundation.
//
// Foundation on Linux archives the parts of a name in the name object; Apple archives them in an object inside it. This
// class reads both forms. Archives call it `NSPersonNameComponents`, so a client's archive of a name decodes too.
// Otherwise it behaves like Foundation's class and is archived as one.

import Foundation
import StratusModel

/// A name that decodes from Apple's archives.
final class ArchivedPersonName: NSPersonNameComponents {
    /// A name to archive in Apple's form.
    convenience init(_ components: PersonNameComponents) {
        self.init()
        adopt(components)
    }

    convenience required init?(coder: NSCoder) {
        self.init()
        if coder.containsValue(forKey: CoderKey.Apple.nameData) {
            guard let parts = coder.decodeObject(of: ArchivedNameParts.self, forKey: CoderKey.Apple.nameData) else {
                return nil
            }
            adopt(parts.components)
        } else {
            adopt(ArchivedNameParts.components(in: coder))
        }
    }

    private func adopt(_ components: PersonNameComponents) {
        for (_, part, own) in ArchivedNameParts.parts { self[keyPath: own] = components[keyPath: part] }
        phoneticRepresentation = components.phoneticRepresentation
    }

    /// The name as a Swift value.
    var components: PersonNameComponents {
        var components = PersonNameComponents()
        for (_, part, own) in ArchivedNameParts.parts { components[keyPath: part] = self[keyPath: own] }
        components.phoneticRepresentation = phoneticRepresentation
        return components
    }

    override func encode(with coder: NSCoder) {
        guard coder.isOfApple else { return super.encode(with: coder) }
        coder.encode(ArchivedNameParts(components), forKey: CoderKey.Apple.nameData)
    }

    override var classForKeyedArchiver: AnyClass? { NSPersonNameComponents.self }

    override class func classFallbacksForKeyedArchiver() -> [String] { ["NSPersonNameComponents"] }
}

/// The parts of a name.
final class ArchivedNameParts: NSObject, NSSecureCoding {
    private static let phoneticKey = "NS.phoneticRepresentation"

    let components: PersonNameComponents

    init(_ components: PersonNameComponents) {
        self.components = components
        super.init()
    }

    convenience init?(coder: NSCoder) { self.init(Self.components(in: coder)) }

    /// The parts under Foundation's keys, which are the same on both systems.
    static func components(in coder: NSCoder) -> PersonNameComponents {
        var components = PersonNameComponents()
        for (key, part, _) in parts { components[keyPath: part] = coder.decodeText(forKey: key) }
        let phonetic = coder.decodeValue(of: [ArchivedPersonName.self, ArchivedNameParts.self], forKey: phoneticKey)
        components.phoneticRepresentation =
            (phonetic as? ArchivedPersonName)?.components ?? (phonetic as? ArchivedNameParts)?.components
        return components
    }

    /// A part of a name: its key in archives, and where both of Foundation's types have it.
    typealias Part = (
        key: String, value: WritableKeyPath<PersonNameComponents, String?>,
        own: ReferenceWritableKeyPath<NSPersonNameComponents, String?>
    )

    static var parts: [Part] {
        [
            ("NS.namePrefix", \.namePrefix, \.namePrefix), ("NS.givenName", \.givenName, \.givenName),
            ("NS.middleName", \.middleName, \.middleName), ("NS.familyName", \.familyName, \.familyName),
            ("NS.nameSuffix", \.nameSuffix, \.nameSuffix), ("NS.nickname", \.nickname, \.nickname),
        ]
    }

    static var supportsSecureCoding: Bool { true }

    override class func classFallbacksForKeyedArchiver() -> [String] { ["_NSPersonNameComponentsData"] }

    func encode(with coder: NSCoder) {
        for (key, part, _) in Self.parts { coder.encodeText(components[keyPath: part], forKey: key) }
        coder.encode(components.phoneticRepresentation.map { ArchivedPersonName($0) }, forKey: Self.phoneticKey)
    }
}

extension PersonNameComponents {
    init(_ name: PersonName) {
        self.init()
        namePrefix = name.prefix
        givenName = name.given
        middleName = name.middle
        familyName = name.family
        nameSuffix = name.suffix
        nickname = name.nickname
    }
}

extension PersonName {
    init(_ components: PersonNameComponents) {
        self.init(
            prefix: components.namePrefix, given: components.givenName, middle: components.middleName,
            family: components.familyName, suffix: components.nameSuffix, nickname: components.nickname)
    }

    /// The parts in the fixed order of archives.
    var parts: [String?] { [prefix, given, middle, family, suffix, nickname] }

    /// A name from its parts; empty ones are missing. Returns nil for another number of parts.
    init?(parts: [String]) {
        guard parts.count == 6 else { return nil }
        let parts = parts.map { $0.isEmpty ? nil : $0 }
        self.init(
            prefix: parts[0], given: parts[1], middle: parts[2], family: parts[3], suffix: parts[4],
            nickname: parts[5])
    }
}
