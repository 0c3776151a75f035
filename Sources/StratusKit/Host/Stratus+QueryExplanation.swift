// How a query is answered, for a host that wants to know what it costs.

import Foundation
import StratusCloud
import StratusModel

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
    init(_ explanation: StratusCloud.DatabaseQueryPlan) {
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
