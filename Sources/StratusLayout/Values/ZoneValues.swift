// What a database keeps of a zone beside its entry: settings, why it was deleted, how many assets it holds.
//
// The numbers of scopes and reasons are the floor above's; any byte is kept and read back.

package import FoundationEssentials

/// What was chosen when a zone was made. Bytes: version 1 · byte: encryption scope.
package struct ZoneSettingsEntry: LayoutValue {
    package var encryptionScope: UInt8

    package init(encryptionScope: UInt8) { self.encryptionScope = encryptionScope }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        bytes.append(encryptionScope)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "ZoneSettingsEntry")
        try reader.expectVersion(1)
        encryptionScope = try reader.readByte()
        try reader.expectEnd()
    }
}

/// Why and when a host deleted a zone. Bytes: version 1 · byte: reason · date: deleted.
package struct ZoneMarkerEntry: LayoutValue {
    package var reason: UInt8
    package var deleted: Date

    package init(reason: UInt8, deleted: Date) {
        self.reason = reason
        self.deleted = deleted
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        bytes.append(reason)
        ValueWriter.append(deleted, to: &bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "ZoneMarkerEntry")
        try reader.expectVersion(1)
        reason = try reader.readByte()
        deleted = try reader.readDate()
        try reader.expectEnd()
    }
}

/// How many fields and list items of a zone's records hold an asset. Bytes: version 1 · number: count.
package struct ZoneAssetsEntry: LayoutValue {
    package var count: UInt64

    package init(count: UInt64) { self.count = count }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        ValueWriter.append(number: count, to: &bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "ZoneAssetsEntry")
        try reader.expectVersion(1)
        count = try reader.readNumber()
        try reader.expectEnd()
    }
}
