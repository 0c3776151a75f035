// Explanations for hosts: of a person's access to a record, and of a query's plan and cost.

import StratusCloud
import StratusModel

extension Stratus {
    /// Explains what a person may do with a record, as text (``description``) and as JSON: encode it with a
    /// `JSONEncoder`.
    ///
    /// It is for the host: it contains data that the person may not see.
    public struct AccessExplanation: Hashable, Sendable, Encodable, CustomStringConvertible {
        /// A person's relation to the share of a record.
        public enum Relation: String, Hashable, Sendable {
            /// They own the zone.
            case owner
            /// They have accepted the share.
            case member
            /// They are invited and have not accepted.
            case invited
            /// They have requested access.
            case requester
            /// They are blocked, and get the same answers as outsiders.
            case blocked
            /// They have no relation to the share.
            case outsider
            /// The record is in a public database, where the schema's grants decide.
            case world
        }

        private let explanation: AccessAnalysis
        private let zoneID: CKRecordZone.ID

        init(_ explanation: AccessAnalysis, in zoneID: CKRecordZone.ID) {
            self.explanation = explanation
            self.zoneID = zoneID
        }

        private func recordID(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zoneID) }

        /// Whether zone and record exist.
        public var exists: Bool { explanation.exists }
        /// The record and its ancestors, up to the root of a share, or to the top if there is no share.
        public var chain: [CKRecord.ID] { explanation.chain.map { recordID($0) } }
        /// The record's share, or the share of its zone; nil if there is none.
        public var shareID: CKRecord.ID? { explanation.share.map { recordID($0) } }
        /// The share's root; nil for a share of a whole zone.
        public var rootRecordID: CKRecord.ID? { explanation.root.map { recordID($0) } }
        /// The person's relation to the share.
        public var relation: Relation { Relation(rawValue: explanation.relation.rawValue) ?? .outsider }
        /// The person's participant identifier within the share; nil if they do not take part.
        public var participantID: CKShare.Participant.ID? { explanation.participant?.id }
        /// Whether the person may read the record.
        public var mayRead: Bool { explanation.verdict.mayRead }
        /// Whether the person may change the record.
        public var mayChange: Bool { explanation.verdict.mayChange }
        /// Whether the person may delete the record. If it is another person's share, this means leaving it (P-13).
        public var mayDelete: Bool { explanation.verdict.mayDelete }
        /// Whether the person may create records below it.
        public var mayCreateBelow: Bool { explanation.verdict.mayCreateBelow }
        /// The steps as sentences, in order. The last one is the verdict.
        public var reasons: [String] { explanation.reasons }

        /// The reasons, one per line.
        public var description: String { explanation.description }

        /// Encodes chain, share, participant, verdict and reasons.
        ///
        /// - Throws: What the encoder throws.
        public func encode(to encoder: any Encoder) throws { try explanation.encode(to: encoder) }
    }

    /// Explains what a person may do with a record: the chain of parents, the share, the person's participant, and the
    /// verdict.
    ///
    /// - Parameters:
    ///   - recordID: The record, as its owner names it.
    ///   - owner: The owner of the private database; nil for the public one.
    ///   - container: The name of the container, such as `iCloud.com.example.app`.
    ///   - account: The person.
    /// - Returns: The explanation. If the record or its zone does not exist, the explanation says so.
    /// - Throws: ``StratusError`` if the store fails or was closed.
    public func explainAccess(
        to recordID: CKRecord.ID, of owner: Account?, inContainer container: String, for account: Account
    ) throws -> AccessExplanation {
        let zone = ZoneID(recordID.zoneID.zoneName, of: owner, inContainer: container)
        let explanation = try asking {
            try $0.explainAccess(
                to: RecordName(recordID.recordName), in: zone, for: UserName(account.userRecordName))
        }
        return AccessExplanation(explanation, in: recordID.zoneID)
    }

    /// Explains how the first page of a query was answered, as text (``description``), and as JSON with a
    /// `JSONEncoder`.
    public struct QueryExplanation: Hashable, Sendable, Encodable, CustomStringConvertible {
        /// The work in one zone.
        public struct ZonePlan: Hashable, Sendable, Encodable {
            /// The zone's name.
            public let zone: String
            /// Which entries were scanned, in which order, which conditions were checked on the records, and how many
            /// entries other plans would have scanned.
            public let plan: String
            /// The number of records found.
            public let resultCount: Int
            /// The number of records that were read for it.
            public let examinedCount: Int
            /// The number of point reads and seeks in the store.
            public let readCount: Int
            /// The number of entries that cursors visited.
            public let cursorStepCount: Int
        }

        /// The zones, in the order of the query.
        public let zones: [ZonePlan]
        /// The number of results on the page, in all zones.
        public let resultCount: Int
        /// Whether more pages follow.
        public let isMoreComing: Bool
        /// A line for each zone, and one for the total.
        public let description: String

        private enum CodingKeys: CodingKey {
            case zones
            case resultCount
            case isMoreComing
        }
    }

    /// Explains how a query is answered: the plan for each zone, and the cost of its first page. The call runs this
    /// page with the rights of the person who asks.
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - zoneID: The zone, as the person names it; nil for all zones.
    ///   - scope: The database.
    ///   - container: The name of the container, such as `iCloud.com.example.app`.
    ///   - account: The person who asks; nil for a caller without an account, who may read only the public database.
    ///   - resultsLimit: The maximum number of results on the page; 0 for the server's choice.
    /// - Returns: The plans.
    /// - Throws: ``StratusError`` if CloudKit refuses the query, with the message that a client gets, and if the store
    ///   fails or was closed.
    public func explainQuery(
        _ query: CKQuery, inZoneWith zoneID: CKRecordZone.ID? = nil, of scope: CKDatabase.Scope = .private,
        inContainer container: String, as account: Account?, resultsLimit: Int = 0
    ) throws -> QueryExplanation {
        let caller = Caller(container: ContainerName(container), account: account.map { AccountID($0.id) })
        let plan = try asking { service in
            let asked = try query.clientQuery(now: service.environment.clock.now)
            return try service.explainQuery(
                QueryRequest(.query(asked, zone: zoneID?.address), limit: max(resultsLimit, 0)), as: caller,
                in: scope.selector)
        }
        return QueryExplanation(
            zones: plan.zones.map { zone in
                QueryExplanation.ZonePlan(
                    zone: zone.zone.zoneName, plan: zone.planText, resultCount: zone.rowCount,
                    examinedCount: zone.examinedCount, readCount: zone.readCount,
                    cursorStepCount: zone.cursorStepCount)
            }, resultCount: plan.resultCount, isMoreComing: plan.isMoreComing, description: plan.description)
    }
}
