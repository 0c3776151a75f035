// What the calls for changes answer with. Only the server's answers make them.

import Foundation
import StratusCloud

extension CKDatabase {
    /// What has become of a zone.
    public enum DatabaseChange {
        /// A zone that is new, or in which something has changed.
        public struct Modification: Hashable, Sendable {
            /// The zone.
            public let zoneID: CKRecordZone.ID

            init(zoneID: CKRecordZone.ID) { self.zoneID = zoneID }
        }

        /// A zone that is gone.
        public struct Deletion: Hashable, Sendable {
            /// Why a zone is gone (Z-07).
            public enum Reason: Hashable, Sendable {
                /// Somebody deleted it, or nothing of it is shared with the user any more.
                case deleted
                /// It was purged: ask the user before its records are uploaded again.
                case purged
                /// The keys of its encrypted data were lost: make it anew, and upload what is here.
                case encryptedDataReset

                init(_ reason: ZoneDeletionReason) {
                    self =
                        switch reason {
                        case .deleted: .deleted
                        case .purged: .purged
                        case .encryptedDataReset: .encryptedDataReset
                        }
                }
            }

            /// The zone.
            public let zoneID: CKRecordZone.ID
            /// Why it is gone.
            public let reason: Reason

            init(zoneID: CKRecordZone.ID, reason: Reason) {
                self.zoneID = zoneID
                self.reason = reason
            }

            /// Whether it was purged.
            @available(*, deprecated, message: "Use reason.")
            public var purged: Bool { reason == .purged }
        }
    }

    /// What has become of a record.
    public enum RecordZoneChange {
        /// A record that is new or has changed.
        public struct Modification: Hashable, Sendable {
            /// The record as it is now.
            public let record: CKRecord

            init(record: CKRecord) { self.record = record }
        }

        /// A record that is gone, or that the user may see no more.
        public struct Deletion: Hashable, Sendable {
            /// The record.
            public let recordID: CKRecord.ID
            /// What it was (T-07).
            public let recordType: CKRecord.RecordType

            init(recordID: CKRecord.ID, recordType: CKRecord.RecordType) {
                self.recordID = recordID
                self.recordType = recordType
            }
        }
    }
}
