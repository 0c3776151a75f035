// Stored records as one caller is shown them who may read them, wherever they lie.

import StratusModel
import StratusRecords

/// Shows the records of one zone to one caller, who may read them.
final class RecordView {
    let zone: ResolvedZone
    private let service: CloudService
    private let viewer: UserName?
    private let reader: RecordReader

    init(service: CloudService, zone: ResolvedZone, viewer: Account?, reader: RecordReader) {
        self.service = service
        self.zone = zone
        self.viewer = viewer?.userName
        self.reader = reader
    }

    /// What the record is called by.
    func address(of record: DecodedRecord) -> RecordAddress {
        RecordAddress(recordName: record.stored.record.name.text, zone: zone.address)
    }

    func shown(_ stored: StoredRecord) throws -> ClientRecord {
        let isShare = stored.record.type == ShareContent.recordType
        return ClientRecord(
            stored, zone: zone.address, viewer: viewer,
            // What lies above a root is not shared.
            hidesParent: zone.isShared && stored.record.share != nil,
            sharing: isShare
                ? try service.sharing(of: stored, zone: zone.address, viewer: viewer, in: reader) : nil)
    }
}
