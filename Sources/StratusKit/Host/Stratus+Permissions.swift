// What somebody may do with records, asked by the host.

import Foundation
import StratusCloud
import StratusModel

extension Stratus {
    /// What a person may do with a record that is there.
    public struct RecordPermissions: OptionSet, Hashable, Sendable {
        /// A bit for each permission.
        public let rawValue: Int
        /// The permissions of these bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// They see it.
        public static let read = RecordPermissions(rawValue: 1 << 0)
        /// They may change it.
        public static let change = RecordPermissions(rawValue: 1 << 1)
    }

    /// What a person may do with records: for a host that serves them by other ways than CloudKit's. It is decided in the
    /// place where requests are (P-10, P-11), without reading the records of private databases.
    /// `explainAccess(to:of:inContainer:for:)` says why.
    ///
    /// - Parameters:
    ///   - recordIDs: The records, as their owner names them.
    ///   - owner: Whose private database they lie in; nil for the public one.
    ///   - container: The name of the container, such as `iCloud.com.example.app`.
    ///   - account: The person.
    /// - Returns: An answer for every record: nothing for one that is not there or that the person does not see, and
    ///   nothing where their account may not be used.
    /// - Throws: ``StratusError`` where the store fails or was closed.
    public func permissions(
        for recordIDs: [CKRecord.ID], of owner: Account?, inContainer container: String, account: Account
    ) throws -> [CKRecord.ID: RecordPermissions] {
        let database = DatabaseID(
            container: ContainerName(container), owner: owner.map { UserName($0.userRecordName) },
            scope: owner == nil ? .public : .private)
        var answers: [CKRecord.ID: RecordPermissions] = [:]
        for (zoneName, recordIDs) in Dictionary(grouping: recordIDs, by: \.zoneID.zoneName) {
            let zone = ZoneID(database: database, name: ZoneName(zoneName))
            let permissions = try asking {
                try $0.permissions(
                    for: recordIDs.map { RecordName($0.recordName) }, in: zone, of: UserName(account.userRecordName))
            }
            for (recordID, permission) in zip(recordIDs, permissions) {
                answers[recordID] = RecordPermissions(permission)
            }
        }
        return answers
    }
}

extension Stratus.RecordPermissions {
    init(_ permissions: StratusModel.RecordPermissions) {
        self = []
        if permissions.contains(.read) { insert(.read) }
        if permissions.contains(.write) { insert(.change) }
    }
}
