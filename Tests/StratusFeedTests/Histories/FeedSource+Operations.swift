// The feeds by operations that fetch all changes themselves (T-03): the calls of blocks between two tokens are a page.

import StratusKit
import StratusSharingSupport
import Synchronization

/// The calls of the blocks of one operation, in order.
private final class BlockTrace: Sendable {
    enum Call: Sendable {
        case changed(CKRecord.ID, Result<CKRecord, any Error>)
        case deleted(CKRecord.ID, String)
        case zoneChanged(CKRecordZone.ID)
        case zoneDeleted(CKRecordZone.ID)
        /// Between pages.
        case token(CKServerChangeToken?)
        case end(Result<CKServerChangeToken, any Error>, moreComing: Bool)
    }

    private let calls = Mutex<[Call]>([])

    func add(_ call: Call) { calls.withLock { $0.append(call) } }

    var all: [Call] { calls.withLock { $0 } }
}

extension FeedSource {
    /// All pages, by an operation.
    func allPages(for reader: FeedReader, limit: Int) async throws -> FeedAnswer {
        let trace = BlockTrace()
        var zone: Int?
        switch reader.place {
        case .zone(let number):
            zone = number
            await fetchZone(reader, number, limit, trace)
        case .privateZones, .sharedZones: await fetchDatabase(reader, limit, trace)
        }
        return distorted(try answer(trace.all, reader, zone), reader)
    }

    private func answer(_ calls: [BlockTrace.Call], _ reader: FeedReader, _ zone: Int?) throws -> FeedAnswer {
        var pages: [FeedPage] = []
        var page = FeedPage()
        var hasEnded = false
        for call in calls {
            guard !hasEnded else { throw FeedFailure(step: nil, message: "a block is called after the last") }
            switch call {
            case .changed(let id, let result): try add(id, result, to: &page, reader, zone ?? -1)
            case .deleted(let id, let type): try add(id, type, to: &page, reader, zone ?? -1)
            case .zoneChanged(let id): try add(id, nil, to: &page, reader)
            case .zoneDeleted(let id): try add(id, "deleted", to: &page, reader)
            case .token(let token):
                page.token = token
                page.isMoreComing = true
                pages.append(page)
                page = FeedPage()
            case .end(.failure(let error), _): return .refused(Outcome(error))
            case .end(.success(let token), let isMoreComing):
                guard !isMoreComing else {
                    throw FeedFailure(step: nil, message: "an operation that fetches all ends with more to come")
                }
                page.token = token
                pages.append(page)
                hasEnded = true
            }
        }
        guard hasEnded else { throw FeedFailure(step: nil, message: "an operation says nothing of its end") }
        return .pages(pages)
    }

    private func fetchZone(_ reader: FeedReader, _ zone: Int, _ limit: Int, _ trace: BlockTrace) async {
        let (person, place) = (town.people[reader.user], performer.place(zone))
        let id = person.zoneID(place)
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [id],
            configurationsByRecordZoneID: [
                id: .init(previousServerChangeToken: reader.token, resultsLimit: limit, desiredKeys: nil)
            ])
        operation.recordWasChangedBlock = { trace.add(.changed($0, $1)) }
        operation.recordWithIDWasDeletedBlock = { trace.add(.deleted($0, $1)) }
        operation.recordZoneChangeTokensUpdatedBlock = { _, token, _ in trace.add(.token(token)) }
        operation.recordZoneFetchResultBlock = { _, result in
            trace.add(.end(result.map(\.serverChangeToken), moreComing: (try? result.get().moreComing) ?? false))
        }
        await withCheckedContinuation { continuation in
            operation.fetchRecordZoneChangesResultBlock = { result in
                // A request that fails as a whole need not report its zones (O-04).
                if case .failure(let error) = result { trace.add(.end(.failure(error), moreComing: false)) }
                continuation.resume()
            }
            person.database(place).add(operation)
        }
    }

    private func fetchDatabase(_ reader: FeedReader, _ limit: Int, _ trace: BlockTrace) async {
        let operation = CKFetchDatabaseChangesOperation(previousServerChangeToken: reader.token)
        operation.resultsLimit = limit
        operation.recordZoneWithIDChangedBlock = { trace.add(.zoneChanged($0)) }
        operation.recordZoneWithIDWasDeletedBlock = { trace.add(.zoneDeleted($0)) }
        operation.changeTokenUpdatedBlock = { trace.add(.token($0)) }
        await withCheckedContinuation { continuation in
            operation.fetchDatabaseChangesResultBlock = { result in
                trace.add(.end(result.map(\.serverChangeToken), moreComing: (try? result.get().moreComing) ?? false))
                continuation.resume()
            }
            database(of: reader).add(operation)
        }
    }
}
