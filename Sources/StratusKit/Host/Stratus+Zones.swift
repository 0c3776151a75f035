// What a person does to their zones outside every app, in Settings: the host does it for them.

import StratusCloud
import StratusModel

extension Stratus {
    /// Why a host deletes a person's zone: what their apps are told (Z-07, Z-08).
    public enum ZonePurgeReason: Hashable, Sendable {
        /// The person has deleted the app's data: `userDeletedZone`. An app asks them before it uploads again.
        case userDeletedData
        /// The person has recovered their account and lost its keys: `zoneNotFound`, with
        /// `CKErrorUserDidResetEncryptedDataKey` true. An app makes the zone again and uploads.
        case encryptedDataReset
    }

    /// Deletes a zone of a person's private database with all its records **on their behalf**, as they do in Settings.
    ///
    /// Whatever their apps ask of the zone is answered as the reason says, until one makes it anew. The default zone is
    /// emptied, and there again at once. What the zone holds leaves the quota at once and the disk in the background.
    ///
    /// - Parameters:
    ///   - zoneID: The zone.
    ///   - account: Whose it is.
    ///   - container: The name of the container, such as `iCloud.com.example.app`.
    ///   - reason: What the person's apps are to be told.
    /// - Throws: ``StratusError`` with `unknownAccount`, `unknownZone` where there is no such zone, or is none any more,
    ///   and `invalidArgument` for a zone of somebody else's; nothing is changed then.
    public func purgeZone(
        _ zoneID: CKRecordZone.ID, of account: Account, inContainer container: String,
        reason: ZonePurgeReason = .userDeletedData
    ) throws {
        try asking {
            try $0.purgeZone(
                zoneID.address, of: account.accountID, in: ContainerName(container),
                reason: StratusCloud.HostPurgeReason(reason))
        }
        upkeep.wake()
    }
}

extension StratusCloud.HostPurgeReason {
    fileprivate init(_ reason: Stratus.ZonePurgeReason) {
        switch reason {
        case .userDeletedData: self = .purged
        case .encryptedDataReset: self = .encryptedDataReset
        }
    }
}
