// Queries over one zone in one snapshot.

package import StratusLayout
import StratusStore

extension ZoneReader {
    /// How the results of a query would be found; `order` is nil for the first page of a query without sort keys.
    package func plan(_ query: RecordQuery, order: ResultOrder?) throws -> QueryPlan {
        try QueryPlanner(query: query, zone: self, indexes: queryIndexes(of: query.type)).plan(order: order)
    }

    /// One page of results behind a position.
    ///
    /// `admits` is asked of every record that passes; what it refuses is no result.
    package func page(
        of query: RecordQuery, _ plan: QueryPlan, after position: QueryPosition?, _ limits: QueryPageLimits,
        fields: FieldSelection = .all, admits: @escaping (DecodedRecord) throws -> Bool = { _ in true }
    ) throws -> QueryPage {
        var run = QueryRun(query, plan, in: self, after: position, limits, fields: fields, admits: admits)
        return try run.run()
    }
}
