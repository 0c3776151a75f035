// Queries over one zone in one snapshot.

package import StratusLayout
import StratusStore

extension ZoneReader {
    /// How the results of a query would be found; `order` is nil for the first page of a query without sort keys.
    package func plan(_ query: RecordQuery, order: ResultOrder?) throws -> QueryPlan {
        try QueryPlanner(query: query, zone: self, indexes: queryIndexes(of: query.type)).plan(order: order)
    }

    /// The plan to go on with where the page of another one is too much, whose results are in the order of names: one whose
    /// pages can end anywhere. Nil where the order is another.
    package func scanPlan(_ query: RecordQuery, instead plan: QueryPlan) throws -> QueryPlan? {
        guard plan.order.isByName else { return nil }
        return try QueryPlanner(query: query, zone: self, indexes: queryIndexes(of: query.type)).scanPlan(instead: plan)
    }

    /// One page of results behind a position, or that finding it is too much for the limits.
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
