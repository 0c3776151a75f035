// Stored records as one caller is shown them who may read them, wherever they lie.

import StratusModel
import StratusRecords

/// Shows the records of one zone to one caller, who may read them.
final class RecordView {
    let zone: ResolvedZone
    private let service: CloudService
    private let viewer: UserName?
    private let reader: RecordReader
    private let showing: RecordShowing

    init(service: CloudService, zone: ResolvedZone, viewer: Account?, reader: RecordReader) {
        self.service = service
        self.zone = zone
        self.viewer = viewer?.userName
        self.reader = reader
        showing = RecordShowing(
            zone: zone.address, viewer: viewer?.userName, hidesParentsOfRoots: zone.isShared)
    }

    func shown(_ decoded: DecodedRecord) throws -> ClientRecord {
        var record = ClientRecord(decoded, showing)
        if decoded.stored.record.type == ShareContent.recordType {
            record.sharing = try service.sharing(of: decoded.stored, zone: zone.address, viewer: viewer, in: reader)
        }
        return record
    }
}
