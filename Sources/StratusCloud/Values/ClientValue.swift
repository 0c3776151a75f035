// The value of a field as a client sends it and is given it: like the stored value, but references name whole records
// and assets are files or contents.

package import FoundationEssentials
package import StratusModel

/// A pointer to a record, wherever it lies; the server refuses those that leave the zone.
package struct ClientReference: Hashable, Codable, Sendable {
    package var target: RecordAddress
    package var action: ReferenceAction

    package init(target: RecordAddress, action: ReferenceAction) {
        self.target = target
        self.action = action
    }
}

/// An asset as a client sends it and is given it.
package enum ClientAsset: Hashable, Codable, Sendable {
    /// A file that this process may read and that is to be taken in. Never made from an archive; a host's socket
    /// takes it from its own user alone.
    case file(path: String)
    /// Content that the server has handed out before, or that a record is said to have: a claim, which counts only
    /// where the record as stored holds the same content in the same field.
    case content(AssetDescriptor)
    /// An asset without a file and without content: what decoding an archive leaves.
    case missing
}

/// The value of a field.
package enum ClientValue: Hashable, Codable, Sendable {
    case string(String)
    case int64(Int64)
    case double(Double)
    case date(Date)
    case bytes(ClientBytes)
    // What is larger than all other values and rarer is kept apart, so that a record's values take little room.
    indirect case location(Location)
    indirect case reference(ClientReference)
    indirect case asset(ClientAsset)
    case list([ClientValue])
}

/// The bytes of a field: the very array that is stored, which nobody copies before a client asks for `Data`. In archives and
/// messages they are what `Data` is.
package struct ClientBytes: Hashable, Sendable {
    package let bytes: [UInt8]

    package init(_ bytes: [UInt8]) { self.bytes = bytes }
    package init(_ data: Data) { bytes = [UInt8](data) }

    package var count: Int { bytes.count }
    package var data: Data { Data(bytes) }
}

extension ClientBytes: Codable {
    package init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(Data.self))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(data)
    }
}

/// A value and whether it came through `encryptedValues` (C-08).
package struct ClientField: Hashable, Codable, Sendable {
    package var value: ClientValue
    package var isEncrypted: Bool

    package init(_ value: ClientValue, isEncrypted: Bool = false) {
        self.value = value
        self.isEncrypted = isEncrypted
    }
}
