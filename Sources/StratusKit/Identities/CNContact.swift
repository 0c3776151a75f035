// A person as an address book has them: a small version of the class of Apple's Contacts, with what CloudKit fills in.
//
// Invariant: immutable; every one is made anew.

public import Foundation

/// A person's name, e-mail addresses and telephone numbers.
public final class CNContact: NSObject, NSCopying, Sendable {
    /// A name of this object. Contacts made anew have new ones.
    public let identifier: String
    /// What stands before the name.
    public let namePrefix: String
    /// The given name; empty where there is none, as the other parts.
    public let givenName: String
    /// The names between the given and the family name.
    public let middleName: String
    /// The family name.
    public let familyName: String
    /// What stands after the name.
    public let nameSuffix: String
    /// What the person is called.
    public let nickname: String
    private let addresses: [String]
    private let numbers: [String]

    /// The person of an identity.
    init(_ identity: CKUserIdentity) {
        let name = identity.nameComponents
        identifier = UUID.drawn().uuidString
        namePrefix = name?.namePrefix ?? ""
        givenName = name?.givenName ?? ""
        middleName = name?.middleName ?? ""
        familyName = name?.familyName ?? ""
        nameSuffix = name?.nameSuffix ?? ""
        nickname = name?.nickname ?? ""
        addresses = identity.lookupInfo?.emailAddress.map { [$0] } ?? []
        numbers = identity.lookupInfo?.phoneNumber.map { [$0] } ?? []
        super.init()
    }

    /// The e-mail address by which the person was found, if it was one.
    public var emailAddresses: [CNLabeledValue<NSString>] {
        addresses.map { CNLabeledValue(label: nil, value: NSString(string: $0)) }
    }

    /// The telephone number by which the person was found, if it was one.
    public var phoneNumbers: [CNLabeledValue<CNPhoneNumber>] {
        numbers.map { CNLabeledValue(label: nil, value: CNPhoneNumber(stringValue: $0)) }
    }

    public override var description: String { "<CNContact: \(givenName) \(familyName)>" }

    /// The same object, which never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }
}

/// A value of an address book's, with a label.
public final class CNLabeledValue<Value: NSObject>: NSObject {
    /// What the value is for; nil where nobody has said.
    public let label: String?
    /// The value.
    public let value: Value

    /// A value with a label.
    public init(label: String?, value: Value) {
        self.label = label
        self.value = value
        super.init()
    }
}

/// A telephone number, equal by its text.
public final class CNPhoneNumber: NSObject, NSCopying, Sendable {
    /// The number as it was written.
    public let stringValue: String

    /// A number.
    public init(stringValue string: String) {
        stringValue = string
        super.init()
    }

    public override func isEqual(_ object: Any?) -> Bool { (object as? CNPhoneNumber)?.stringValue == stringValue }

    public override var hash: Int { stringValue.hashValue }

    /// The same object, which never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }
}
