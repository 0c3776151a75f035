// What stands for a zone while its indexes are rebuilt, however often the process ends meanwhile.

package import FoundationEssentials

/// A zone whose indexes are being rebuilt. Bytes: version 1 · UUID: identity.
package struct RebuildEntry: LayoutValue {
    /// The identity of the zone.
    package var identity: UUID

    package init(identity: UUID) { self.identity = identity }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        ValueWriter.append(identity, to: &bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "RebuildEntry")
        try reader.expectVersion(1)
        identity = try reader.readUUID()
        try reader.expectEnd()
    }
}
