// What a field of a record can hold: CloudKit's server types (C-21), as plain values.

package import FoundationEssentials

/// A place on Earth with the accuracy a device reports for it.
package struct Location: Hashable, Codable, Sendable {
    package var latitudeDegrees: Double
    package var longitudeDegrees: Double
    package var altitudeMetres: Double
    package var horizontalAccuracyMetres: Double
    package var verticalAccuracyMetres: Double
    package var courseDegrees: Double
    package var speedMetresPerSecond: Double
    package var timestamp: Date

    package init(
        latitudeDegrees: Double, longitudeDegrees: Double, altitudeMetres: Double = 0,
        horizontalAccuracyMetres: Double = 0, verticalAccuracyMetres: Double = -1, courseDegrees: Double = -1,
        speedMetresPerSecond: Double = -1, timestamp: Date
    ) {
        self.latitudeDegrees = latitudeDegrees
        self.longitudeDegrees = longitudeDegrees
        self.altitudeMetres = altitudeMetres
        self.horizontalAccuracyMetres = horizontalAccuracyMetres
        self.verticalAccuracyMetres = verticalAccuracyMetres
        self.courseDegrees = courseDegrees
        self.speedMetresPerSecond = speedMetresPerSecond
        self.timestamp = timestamp
    }
}

/// What happens to the record that holds a reference when its target is deleted. The raw values are stored.
package enum ReferenceAction: UInt8, Hashable, Codable, Sendable, CaseIterable {
    /// The reference is left dangling.
    case none = 0
    /// The holder is deleted too.
    case deleteSelf = 1
}

/// A pointer to a record of the same zone.
package struct RecordReference: Hashable, Sendable {
    package var target: RecordName
    package var action: ReferenceAction

    package init(target: RecordName, action: ReferenceAction) {
        self.target = target
        self.action = action
    }
}

/// What a record keeps of a file: its content's digest and its size. The bytes are stored elsewhere, once per owner.
package struct AssetDescriptor: Hashable, Codable, Sendable {
    /// The SHA-256 of the content, 32 bytes.
    package var digest: [UInt8]
    package var byteCount: Int64

    package init(digest: [UInt8], byteCount: Int64) {
        self.digest = digest
        self.byteCount = byteCount
    }
}

/// The value of one field.
package enum FieldValue: Hashable, Sendable {
    case string(String)
    case int64(Int64)
    case double(Double)
    case date(Date)
    case bytes([UInt8])
    /// Kept apart, because it is larger than all other values and rare.
    indirect case location(Location)
    case reference(RecordReference)
    case asset(AssetDescriptor)
    /// Values of one kind; never a list of lists.
    case list([FieldValue])
}

/// A value together with whether its owner marked it as encrypted (C-08).
package struct Field: Hashable, Sendable {
    package var value: FieldValue
    package var isEncrypted: Bool

    package init(_ value: FieldValue, isEncrypted: Bool = false) {
        self.value = value
        self.isEncrypted = isEncrypted
    }
}
