// What records and zones may be called (L-07, L-08). Types and fields are the schema's (L-09).

enum NameRules {
    static let maximumCharacterCount = 255

    /// Why a record may not have this name, or nil.
    static func recordNameError(_ name: String) -> CloudError? {
        // 255 UTF-16 units are at least a third of that many bytes, so most names need no second count.
        guard name.isEmpty || name.utf8.count > maximumCharacterCount else { return nil }
        guard name.isEmpty || name.utf16.count > maximumCharacterCount else { return nil }
        return CloudError(
            .invalidArguments, "A record name has 1 to 255 characters: choose another.",
            ["characters": "\(name.utf16.count)"])
    }

    /// Whether a zone can have this name at all.
    static func isZoneName(_ name: String) -> Bool {
        if name == ZoneAddress.defaultZoneName { return true }
        guard let first = name.utf8.first, first != UInt8(ascii: "_") else { return false }
        return name.utf8.count <= maximumCharacterCount && name.utf8.allSatisfy { $0 < 0x80 }
    }

    /// Why a zone of this name cannot be made, or nil.
    static func zoneNameError(_ name: String) -> CloudError? {
        guard !isZoneName(name) else { return nil }
        return CloudError(
            .invalidArguments, "A zone name has 1 to 255 ASCII characters and does not begin with an underscore.",
            ["characters": "\(name.utf16.count)"])
    }
}
