// A person in an address book: a small version of the class in Apple's Contacts, with what CloudKit fills in.
//
// Invariant: a contact is immutable. Every access creates a new one.

public import Foundation

/// A person's name, e-mail addresses and telephone numbers.
public final class CNContact: NSObject, NSCopying, Sendable {
    /// A name of this object. Every new contact has another one.
    public let identifier: String
    /// The prefix of the name.
    public let namePrefix: String
    /// The given name; empty if there is none, like the other parts.
    public let givenName: String
    /// The names between the given and the family name.
    public let middleName: String
    /// The family name.
    public let familyName: String
    /// The suffix of the name.
    public let nameSuffix: String
    /// The nickname.
    public let nickname: String
    private let lookupInfo: CKUserIdentity.LookupInfo?

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
        lookupInfo = identity.lookupInfo
        super.init()
    }

    /// The e-mail address the person was found by, if any.
    public var emailAddresses: [CNLabeledValue<NSString>] {
        (lookupInfo?.emailAddress).map { [CNLabeledValue(label: nil, value: NSString(string: $0))] } ?? []
    }

    /// The telephone number the person was found by, if any.
    public var phoneNumbers: [CNLabeledValue<CNPhoneNumber>] {
        (lookupInfo?.phoneNumber).map { [CNLabeledValue(label: nil, value: CNPhoneNumber(stringValue: $0))] } ?? []
    }

    public override var description: String { "<CNContact: \(givenName) \(familyName)>" }

    /// The same object, which never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }
}

/// A value of an address book with a label.
public final class CNLabeledValue<Value: NSObject>: NSObject {
    /// What the value is for; nil if unknown.
    public let label: String?
    /// The value.
    public let value: Value

    /// Creates a value with a label.
    public init(label: String?, value: Value) {
        self.label = label
        self.value = value
        super.init()
    }
}

/// A telephone number. Two are equal by their text.
public final class CNPhoneNumber: NSObject, NSCopying, Sendable {
    /// The number as written.
    public let stringValue: String

    /// Creates a number.
    public init(stringValue string: String) {
        stringValue = string
        super.init()
    }

    public override func isEqual(_ object: Any?) -> Bool { (object as? CNPhoneNumber)?.stringValue == stringValue }

    public override var hash: Int { stringValue.hashValue }

    /// The same object, which never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }
}
