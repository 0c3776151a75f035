// Stored records as one caller is shown them who may read them, wherever they lie.

import StratusModel
import StratusRecords

/// Shows the records of one zone to one caller, who may read them.
struct RecordView {
    let service: CloudService
    let zone: ResolvedZone
    let viewer: Account?
    let reader: RecordReader

    func shown(_ stored: StoredRecord) throws -> ClientRecord {
        var record = ClientRecord(stored, zone: zone.address, viewer: viewer?.userName)
        // What lies above a root is not shared.
        if zone.isShared, stored.record.share != nil { record.parent = nil }
        if stored.record.type == ShareContent.recordType {
            record.sharing = try service.sharing(
                of: stored, zone: zone.address, viewer: viewer?.userName, in: reader)
        }
        return record
    }
}
