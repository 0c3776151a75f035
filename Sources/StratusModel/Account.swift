// The people of a store: accounts, and the handles that find them.
//
// A normalised handle is ASCII, so that equal handles are equal bytes. People write their e-mail address in different
// cases and mean one mailbox, so the whole address becomes lower case; domains with other letters are written in their
// ASCII form (`xn--…`). A telephone number keeps its digits and whether it is international.

package import FoundationEssentials

/// The store's own name of an account: opaque, random, never shown to clients.
package struct AccountID: ByteComparedName {
    package let text: String
    package init(_ text: String) { self.text = text }
}

/// The standing of an account with the host. The raw values are stored; they never change.
package enum AccountStanding: UInt8, Hashable, Codable, Sendable, CaseIterable {
    case good = 1
    /// Parental or managed restrictions: the account exists but cannot be used.
    case restricted = 2
    /// The account must be verified again before it can be used (S-17).
    case needsVerification = 3
    /// The host has closed the account without deleting its data.
    case suspended = 4
}

/// The parts of a person's name.
package struct PersonName: Hashable, Codable, Sendable {
    package var prefix: String?
    package var given: String?
    package var middle: String?
    package var family: String?
    package var suffix: String?
    package var nickname: String?

    package init(
        prefix: String? = nil, given: String? = nil, middle: String? = nil, family: String? = nil,
        suffix: String? = nil, nickname: String? = nil
    ) {
        self.prefix = prefix
        self.given = given
        self.middle = middle
        self.family = family
        self.suffix = suffix
        self.nickname = nickname
    }
}

/// An account of the store: one person, in every container.
package struct StoredAccount: Hashable, Sendable {
    package var id: AccountID
    /// The host's own identifier of the person, unique in the store; nil if the host knows them only by handle.
    package var externalID: String?
    /// The record name of the person's user record, in every container.
    package let userName: UserName
    /// The person's addresses that the host has verified, in their normalised form.
    package var handles: Set<Handle>
    package var name: PersonName
    package var standing: AccountStanding
    /// Whether others can find the person by a handle.
    package var isDiscoverable: Bool
    /// The most bytes the person's private databases may hold, assets included; nil for the store's default.
    package var quotaByteCount: Int64?
    package var created: Date

    package init(
        id: AccountID, externalID: String?, userName: UserName, handles: Set<Handle> = [], name: PersonName = .init(),
        standing: AccountStanding = .good, isDiscoverable: Bool = true, quotaByteCount: Int64? = nil, created: Date
    ) {
        self.id = id
        self.externalID = externalID
        self.userName = userName
        self.handles = handles
        self.name = name
        self.standing = standing
        self.isDiscoverable = isDiscoverable
        self.quotaByteCount = quotaByteCount
        self.created = created
    }
}

/// An e-mail address or a telephone number of a person.
package enum Handle: Hashable, Codable, Sendable, CustomStringConvertible {
    case email(String)
    case phone(String)

    /// The longest e-mail address, in bytes.
    private static let maximumEmailByteCount = 254
    /// How many digits a telephone number has: the shortest ones in use, and the international limit with room for a
    /// national prefix.
    private static let phoneDigitCounts = 3...17

    /// The address itself.
    package var text: String {
        switch self {
        case .email(let address): address
        case .phone(let number): number
        }
    }

    package var description: String { text }

    /// The form in which the handle is stored and compared; nil if it is malformed.
    package var normalized: Handle? {
        switch self {
        case .email(let address): Self.normalizedEmail(address).map { .email($0) }
        case .phone(let number): Self.normalizedPhone(number).map { .phone($0) }
        }
    }

    /// Printable ASCII in lower case: a local part, one "@", a domain.
    private static func normalizedEmail(_ address: String) -> String? {
        let trimmed = trimmed(address)
        guard trimmed.utf8.count <= maximumEmailByteCount else { return nil }
        let parts = trimmed.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, isDomain(parts[1]) else { return nil }
        guard trimmed.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
        return trimmed.lowercased()
    }

    /// Labels of letters, digits and inner hyphens, with dots between them.
    private static func isDomain(_ text: Substring) -> Bool {
        text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
            guard !label.isEmpty, label.first != "-", label.last != "-" else { return false }
            return label.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
        }
    }

    /// The digits, after a "+" if the number is international (begins with "+" or "00"). Separators between digits are
    /// dropped; anything else makes the number malformed.
    private static func normalizedPhone(_ number: String) -> String? {
        var digits = ""
        var isInternational = false
        for scalar in trimmed(number).unicodeScalars {
            if scalar.properties.numericType == .decimal, let value = scalar.properties.numericValue {
                digits += "\(Int(value))"
            } else if scalar == "+" || scalar == "\u{FF0B}" {
                guard digits.isEmpty, !isInternational else { return nil }
                isInternational = true
            } else if !isBetweenDigits(scalar) {
                return nil
            }
        }
        if !isInternational, digits.hasPrefix("00") {
            digits.removeFirst(2)
            isInternational = true
        }
        guard phoneDigitCounts.contains(digits.count) else { return nil }
        return isInternational ? "+" + digits : digits
    }

    /// Spaces, brackets, dots, slashes and dashes, and the invisible marks that copied text contains.
    private static func isBetweenDigits(_ scalar: Unicode.Scalar) -> Bool {
        if "()[]./-".unicodeScalars.contains(scalar) { return true }
        switch scalar.properties.generalCategory {
        case .spaceSeparator, .dashPunctuation, .format: return true
        default: return false
        }
    }

    private static func trimmed(_ text: String) -> String {
        guard let first = text.firstIndex(where: { !$0.isWhitespace }),
            let last = text.lastIndex(where: { !$0.isWhitespace })
        else { return "" }
        return String(text[first...last])
    }
}
