// One page of a query over one zone or all zones of a database, in one snapshot.
//
// Without sort keys, zones come one after the other in the order of their names. With sort keys, each zone provides its
// first rows after the position, and the page has the first of all of them: memory holds the rows of two pages.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

struct DatabaseQuery {
    /// When a client that waits for an index may retry.
    private static let indexRetrySeconds = 30.0

    let service: CloudService
    let caller: Caller
    /// The caller's account, if it may be used.
    let account: StoredAccount?
    let database: DatabaseSelector
    let verdict: QueryVerdict
    let zones: [ResolvedZone]
    let desiredKeys: Set<String>?
    let reader: RecordReader

    /// The results, and where the query continues; nil at the end.
    struct Page {
        var records: [QueryResult] = []
        var lastZone: ZoneName?
        var order: FieldKey?
        var position: QueryPosition?
        /// How each zone was queried, for people.
        var plans: [ZoneQueryPlan] = []
        /// The work up to the position.
        var work = QueryWork()
        /// The work in finished zones, if zones come one after the other.
        fileprivate var finished = QueryWork()

        /// Marks that no results follow the page.
        fileprivate mutating func end() {
            position = nil
            work = finished
        }
    }

    private struct Found {
        var view: RecordPresenter
        var row: QueryRow
        var zone: ResolvedZone { view.zone }
    }

    func page(after cursor: QueryCursor?, limit: Int) throws -> Page {
        var page = Page()
        guard !verdict.query.matchesNothing else {
            // No record is read, but a missing zone is still an error.
            for zone in zones { _ = try visibleZone(zone) }
            return page
        }
        announceZones(RecordType(verdict.query.recordType))
        if verdict.sortFields.isEmpty {
            try addInTurn(cursor, limit, to: &page)
        } else if zones.count == 1, let zone = zones.first {
            let order = ResultOrder(translated(zone).sorts)
            let limits = limits(rowCount: limit)
            let examinedCount = try add(zone, order, after: position(cursor, in: zone, order), limits, to: &page)
            if examinedCount != nil { page.end() }
        } else {
            try addMerged(cursor, limit, to: &page)
        }
        if zones.count == 1, let only = page.plans.first, !only.plan.isInOrder {
            page.work.pickedFromCount = only.examinedCount
        }
        return page
    }

    // MARK: Zones one after the other

    private func addInTurn(_ cursor: QueryCursor?, _ limit: Int, to page: inout Page) throws {
        var limits = limits(rowCount: limit)
        for zone in zones where cursor.map({ !(zone.id.name < $0.lastZone) }) ?? true {
            let isFirst = zone.id.name == cursor?.lastZone
            var order: ResultOrder?
            if isFirst, let cursor {
                order = ResultOrder(cursor.order.map { [RecordSort(QueryField(indexKey: $0))] } ?? [])
            }
            let examinedCount = try add(zone, order, after: isFirst ? cursor?.position : nil, limits, to: &page)
            guard let examinedCount else { return }
            limits.rowCount = limit - page.records.count
            limits.examinedCount = max(1, limits.examinedCount - examinedCount)
        }
        page.end()
    }

    /// Adds the results of one zone after a position, in its order, and moves the page's position. Returns how many
    /// records were read; nil if the page ends there, because it is full or has read its limit.
    private func add(
        _ zone: ResolvedZone, _ order: ResultOrder?, after position: QueryPosition?, _ limits: QueryPageLimits,
        to page: inout Page
    ) throws -> Int? {
        guard let zoneReader = try visibleZone(zone) else { return 0 }
        let query = translated(zone)
        let plan = try zoneReader.plan(query, order: order)
        // One more row shows whether there are more.
        var limitsOfRun = limits
        limitsOfRun.rowCount += 1
        let rows = try run(query, plan, zone, zoneReader, after: position, limitsOfRun, &page)
        let wanted = rows.rows.prefix(limits.rowCount)
        let view = view(of: zone)
        page.records.reserveCapacity(page.records.count + wanted.count)
        for row in wanted { page.records.append(.record(try view.shown(row.record))) }
        let isFull = wanted.count < rows.rows.count
        let stopped = isFull ? nil : rows.stopped
        if let end = stopped ?? wanted.last.map({ QueryPosition($0) }) {
            page.order = verdict.sortFields.isEmpty ? plan.order.keys.first?.field.indexKey : nil
            (page.lastZone, page.position) = (zone.id.name, end)
            let work = stopped == nil ? wanted.last?.work : rows.work
            page.work = page.finished.adding(work ?? QueryWork())
        }
        page.finished = page.finished.adding(rows.work)
        return isFull || stopped != nil ? nil : rows.examinedCount
    }

    // MARK: All zones in one order

    private func addMerged(_ cursor: QueryCursor?, _ limit: Int, to page: inout Page) throws {
        var found: [Found] = []
        var order = ResultOrder([])
        // The first position at which a zone stopped before its end: later results may not be returned yet.
        var stop: (zone: ResolvedZone, position: QueryPosition)?
        for zone in zones {
            guard let zoneReader = try visibleZone(zone) else { continue }
            let query = translated(zone)
            order = ResultOrder(query.sorts)
            let plan = try zoneReader.plan(query, order: order)
            let rows = try run(
                query, plan, zone, zoneReader, after: position(cursor, in: zone, order),
                limits(rowCount: limit + 1), &page)
            let isInOrder = found.isEmpty
            let view = view(of: zone)
            found += rows.rows.map { Found(view: view, row: $0) }
            if !isInOrder { found.sort { isBefore($0, $1, order) } }
            if found.count > limit + 1 { found.removeLast(found.count - limit - 1) }
            if let stopped = rows.stopped,
                stop.map({ isBefore((zone, stopped), $0, order) }) ?? true
            {
                stop = (zone, stopped)
            }
        }
        var isMore = found.count > limit
        if isMore { found.removeLast() }
        if let stop {
            let isPast = found.last.map { isBefore(stop, ($0.zone, QueryPosition($0.row)), order) } ?? false
            if !isMore || isPast {
                found.removeAll { isBefore(stop, ($0.zone, QueryPosition($0.row)), order) }
                (page.lastZone, page.position) = (stop.zone.id.name, stop.position)
                isMore = false
            }
        }
        if isMore, let last = found.last {
            (page.lastZone, page.position) = (last.zone.id.name, QueryPosition(last.row))
        }
        page.records = try found.map { .record(try $0.view.shown($0.row.record)) }
        // Extra rows of a zone are read again, so only results count.
        page.work = QueryWork(openCount: found.count)
    }

    /// The position in one zone: among equal values, zones are in the order of their names.
    private func position(_ cursor: QueryCursor?, in zone: ResolvedZone, _ order: ResultOrder) -> QueryPosition? {
        guard let cursor else { return nil }
        let difference = order.compare(names: zone.id.name, cursor.lastZone)
        guard difference != 0 else { return cursor.position }
        return QueryPosition(values: cursor.position.values, name: difference < 0 ? .afterAll : .beforeAll)
    }

    private func isBefore(_ left: Found, _ right: Found, _ order: ResultOrder) -> Bool {
        isBefore((left.zone, QueryPosition(left.row)), (right.zone, QueryPosition(right.row)), order)
    }

    private func isBefore(
        _ left: (zone: ResolvedZone, position: QueryPosition), _ right: (zone: ResolvedZone, position: QueryPosition),
        _ order: ResultOrder
    ) -> Bool {
        let values = order.compare(values: left.position.values, right.position.values)
        guard values == 0 else { return values < 0 }
        let zones = order.compare(names: left.zone.id.name, right.zone.id.name)
        guard zones == 0, case .name(let one) = left.position.name, case .name(let other) = right.position.name else {
            return zones < 0
        }
        return order.compare(names: one, other) < 0
    }

    // MARK: One zone

    private func translated(_ zone: ResolvedZone) -> RecordQuery {
        QueryTranslation(
            verdict: verdict, zone: zone, caller: account?.userName,
            metresPerUnit: service.options.queryDistanceUnitMetres
        ).query()
    }

    /// The zone, if the caller sees it; nil for a default zone without any saved record.
    private func visibleZone(_ zone: ResolvedZone) throws -> ZoneReader? {
        guard let zoneReader = try reader.zone(zone.id) else {
            if zone.isDefault { return nil }
            throw try ZoneFacts.missing(zone, in: reader)
        }
        guard try access(to: zone).isZoneVisible() else { throw ScopeVerdict.zoneNotFound(zone.address) }
        return zoneReader
    }

    private func view(of zone: ResolvedZone) -> RecordPresenter {
        RecordPresenter(service: service, zone: zone, viewer: account, reader: reader)
    }

    private func access(to zone: ResolvedZone) throws -> ZoneAccess {
        try ZoneAccess(service, to: zone, caller: account?.userName, in: reader)
    }

    private func limits(rowCount: Int) -> QueryPageLimits {
        QueryPageLimits(
            rowCount: rowCount, examinedCount: service.options.queryLookCount,
            pickedFromCount: service.options.querySortCount)
    }

    private func run(
        _ query: RecordQuery, _ plan: QueryPlan, _ zone: ResolvedZone, _ zoneReader: ZoneReader,
        after position: QueryPosition?, _ limits: QueryPageLimits, _ page: inout Page
    ) throws -> QueryPage {
        let access = try access(to: zone)
        let before = reader.store.cost
        let fields = FieldSelection.desired(desiredKeys)
        func rows(_ plan: QueryPlan) throws -> QueryPage {
            try zoneReader.page(
                of: query, plan, after: position, limits, fields: fields, needsPlaces: zone.isShared
            ) { decoded in
                // The caller may read everything of their own.
                try !zone.isShared && !zone.isPublic || access.permissions(for: decoded.stored).contains(.read)
            }
        }
        var used = plan
        var found = try rows(plan)
        if found.isTooMuch {
            guard let scan = try zoneReader.scanPlan(query, instead: plan) else { throw tooMuch(query, plan) }
            let pickedFromCount = found.examinedCount
            used = scan
            found = try rows(scan)
            found.examinedCount += pickedFromCount
        }
        page.plans.append(
            ZoneQueryPlan(
                zone: zone.address, plan: used, rowCount: found.rows.count, examinedCount: found.examinedCount,
                cost: reader.store.cost - before))
        return found
    }

    /// The error if finding the first results of an order exceeds the limit of a page.
    private func tooMuch(_ query: RecordQuery, _ plan: QueryPlan) -> CloudError {
        var fields = ["recordType": query.type.text, "limit": "\(service.options.querySortCount)"]
        if let key = plan.unreadyOrder {
            fields["sortKey"] = key.text
            return CloudError(
                .zoneBusy, "The index for the sort order is being built. Try again later.", fields,
                retryAfterSeconds: Self.indexRetrySeconds)
        }
        fields["sortKey"] = verdict.query.sorts.first?.key
        return CloudError(
            .limitExceeded, inner: CloudError.InnerCode.limit,
            "No index provides this order, and too many records match. Sort by a sortable field first, or filter more.",
            fields)
    }
}

extension QueryPosition {
    fileprivate init(_ row: QueryRow) {
        self.init(values: row.values, name: .name(row.record.stored.record.name))
    }
}
