// Deleted zones that the ledger of assets still counts.

package import FoundationEssentials
package import StratusModel

/// A zone that was deleted and whose records still count as holders of assets. Its keys are purged when they do not.
///
/// Bytes: version 1 · number: database · number: zone · UUID: identity · text: owner · byte: 1 some were released, else 0
/// · (1) text: the last record released.
package struct ReleaseEntry: LayoutValue {
    package var database: DatabaseNumber
    package var zone: ZoneNumber
    package var identity: UUID
    /// Whose assets the records hold.
    package var owner: UserName
    /// The record, in the order of names, up to which the zone's records do not count any more; nil when all still do.
    package var last: RecordName?

    package init(
        database: DatabaseNumber, zone: ZoneNumber, identity: UUID, owner: UserName, last: RecordName? = nil
    ) {
        self.database = database
        self.zone = zone
        self.identity = identity
        self.owner = owner
        self.last = last
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        ValueWriter.append(number: database.rawValue, to: &bytes)
        ValueWriter.append(number: zone.rawValue, to: &bytes)
        ValueWriter.append(identity, to: &bytes)
        ValueWriter.append(owner.text, to: &bytes)
        bytes.append(last == nil ? 0 : 1)
        if let last { ValueWriter.append(last.text, to: &bytes) }
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "ReleaseEntry")
        try reader.expectVersion(1)
        database = DatabaseNumber(try reader.readPositive())
        zone = ZoneNumber(try reader.readPositive())
        identity = try reader.readUUID()
        owner = UserName(try reader.readText())
        switch try reader.readByte() {
        case 0: last = nil
        case 1: last = RecordName(try reader.readText())
        default: throw reader.corrupt("The mark of what was released is neither 0 nor 1.")
        }
        try reader.expectEnd()
    }
}
