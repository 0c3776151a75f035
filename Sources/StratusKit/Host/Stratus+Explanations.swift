// Why somebody may do what they may with a record.

import Foundation
import StratusCloud
import StratusModel

extension Stratus {
    /// The way from a person and a record to what the person may do with it, in words (``description``) and as JSON: encode
    /// it with a `JSONEncoder`.
    ///
    /// It is for the host: it tells what the person may not know.
    public struct AccessExplanation: Hashable, Sendable, Encodable, CustomStringConvertible {
        /// What a person is to the share that a record lies in.
        public enum Relation: String, Hashable, Sendable {
            /// The zone is theirs.
            case owner
            /// They have accepted.
            case member
            /// They are invited and have not accepted.
            case invited
            /// They have asked for access.
            case requester
            /// They were blocked, and are answered as outsiders.
            case blocked
            /// They are nothing to it.
            case outsider
            /// The record lies in a public database, where the schema's grants decide.
            case world
        }

        private let explanation: StratusCloud.AccessExplanation
        private let zoneID: CKRecordZone.ID

        init(_ explanation: StratusCloud.AccessExplanation, in zoneID: CKRecordZone.ID) {
            self.explanation = explanation
            self.zoneID = zoneID
        }

        private func recordID(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zoneID) }

        /// Whether zone and record are there at all.
        public var exists: Bool { explanation.exists }
        /// The record, and those above it up to the root of a share, or to the top where there is none.
        public var chain: [CKRecord.ID] { explanation.chain.map { recordID($0) } }
        /// The share that the record lies in, or that of its whole zone; nil where there is none.
        public var shareID: CKRecord.ID? { explanation.share.map { recordID($0) } }
        /// The share's root; nil for one of a whole zone.
        public var rootRecordID: CKRecord.ID? { explanation.root.map { recordID($0) } }
        /// What the person is to the share.
        public var relation: Relation { Relation(rawValue: explanation.relation.rawValue) ?? .outsider }
        /// The name within the share of the participant that the person is; nil where they are none.
        public var participantID: CKShare.Participant.ID? { explanation.participant?.id }
        /// Whether the person may read the record.
        public var mayRead: Bool { explanation.verdict.mayRead }
        /// Whether the person may change the record.
        public var mayChange: Bool { explanation.verdict.mayChange }
        /// Whether the person may delete the record. Of a share that is somebody else's: leave it (P-13).
        public var mayDelete: Bool { explanation.verdict.mayDelete }
        /// Whether the person may put new records below it.
        public var mayCreateBelow: Bool { explanation.verdict.mayCreateBelow }
        /// The steps in words, in their order; the last one is the verdict.
        public var reasons: [String] { explanation.reasons }

        /// The reasons, a line each.
        public var description: String { explanation.description }

        /// Encodes chain, share, participant, verdict and reasons.
        ///
        /// - Throws: What the encoder throws.
        public func encode(to encoder: any Encoder) throws { try explanation.encode(to: encoder) }
    }

    /// Why a person may do what they may with a record: the chain that is walked, the share that is found, the participant
    /// that they are, and the verdict.
    ///
    /// - Parameters:
    ///   - recordID: The record, as its owner names it.
    ///   - owner: Whose private database it lies in; nil for the public one.
    ///   - container: The name of the container, such as `iCloud.com.example.app`.
    ///   - account: The person.
    /// - Returns: The explanation. That the record or its zone is not there is one too.
    /// - Throws: ``StratusError`` where the store fails or was closed.
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
}

// How a query is answered, for a host that wants to know what it costs.

extension Stratus {
    /// How the first page of a query was answered: in words (``description``), and as JSON with a `JSONEncoder`.
    public struct QueryExplanation: Hashable, Sendable, Encodable, CustomStringConvertible {
        /// What was done in one zone.
        public struct ZonePlan: Hashable, Sendable, Encodable {
            /// The zone's name.
            public let zone: String
            /// Which entries were gone through, in which order, what was compared on the records themselves, and what the
            /// other ways would have led past.
            public let plan: String
            /// Records that were found, and those that were looked at for it.
            public let resultCount: Int
            /// Records that were looked at.
            public let examinedCount: Int
            /// Point reads and seeks of the store.
            public let readCount: Int
            /// Entries that a cursor came to.
            public let cursorStepCount: Int
        }

        /// The zones, in the order in which they were asked.
        public let zones: [ZonePlan]
        /// Results of the page, of all zones together.
        public let resultCount: Int
        /// Whether there are further pages.
        public let isMoreComing: Bool
        /// A line for each zone, and one for the whole.
        public let description: String

        private enum CodingKeys: CodingKey {
            case zones
            case resultCount
            case isMoreComing
        }
    }

    /// How a query is answered: the plan that was made for each zone, and what its first page cost. The page is carried out
    /// for it, with the rights of the person who asks.
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - zoneID: The zone, as the person names it; nil for all zones.
    ///   - scope: The database.
    ///   - container: The name of the container, such as `iCloud.com.example.app`.
    ///   - account: The person who asks; nil for nobody, who reads the public database alone.
    ///   - resultsLimit: Results of the page; 0 leaves it to the server.
    /// - Returns: The plans.
    /// - Throws: ``StratusError`` where the query is one that CloudKit refuses, with the sentence that a client would be
    ///   told, and where the store fails or was closed.
    public func explainQuery(
        _ query: CKQuery, inZoneWith zoneID: CKRecordZone.ID? = nil, of scope: CKDatabase.Scope = .private,
        inContainer container: String, as account: Account?, resultsLimit: Int = 0
    ) throws -> QueryExplanation {
        let caller = Caller(container: ContainerName(container), account: account.map { AccountID($0.id) })
        let explanation = try asking { service in
            let asked: ClientQuery
            do throws(PredicateProblem) {
                asked = try query.clientQuery(now: service.environment.clock.now)
            } catch {
                throw error.error
            }
            return try service.explainQuery(
                QueryRequest(.query(asked, zone: zoneID?.address), limit: max(resultsLimit, 0)), as: caller,
                in: scope.selector)
        }
        return QueryExplanation(explanation)
    }
}

extension Stratus.QueryExplanation {
    init(_ explanation: StratusCloud.QueryExplanation) {
        self.init(
            zones: explanation.zones.map { zone in
                ZonePlan(
                    zone: zone.zone.zoneName, plan: zone.planText, resultCount: zone.rowCount,
                    examinedCount: zone.examinedCount, readCount: zone.readCount,
                    cursorStepCount: zone.cursorStepCount)
            }, resultCount: explanation.resultCount, isMoreComing: explanation.isMoreComing,
            description: explanation.description)
    }
}
