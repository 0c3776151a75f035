// Everyone reads everything after every step: from every stored token of theirs, and now and then from the beginning,
// to the end. Each of these replicas must equal what its reader may see then, by the same checks as for all readers.
//
// There are so many that they use the server's requests directly: the same as those of `CKDatabase`'s calls, without a
// task and an operation around each.

import Foundation
import StratusCloud
import StratusModel
import StratusSharingSupport

@testable import StratusKit

/// Replays the replicas of all people and places.
struct FeedReplays {
    private struct Place: Hashable {
        let user: Int
        let place: FeedPlace
    }

    private static let stepsPerBeginning = 4

    private let source: FeedSource
    private let places: [Place]
    private var kept: [Place: KeptReplicas] = [:]
    private var stepCount = 0

    init(_ source: FeedSource, zones: [Int]) {
        self.source = source
        places = (0..<SharingHistory.userCount).flatMap { user in
            FeedPlace.all(of: user, zones).map { Place(user: user, place: $0) }
        }
    }

    /// Continues from every token to the end.
    mutating func replay(at date: Date) async throws {
        stepCount += 1
        for place in places {
            var replicas = kept[place] ?? KeptReplicas()
            let readers = replicas.readers
            // A complete fetch equals what can be fetched: now and then all are compared.
            var youngest: FeedReader?
            if readers.isEmpty || stepCount.isMultiple(of: Self.stepsPerBeginning) {
                youngest = try replayed(FeedReader(user: place.user, place: place.place), at: date)
            }
            for (index, reader) in readers.enumerated() {
                // Now and then in small pages.
                let limit = (stepCount + index).isMultiple(of: 5) ? 1 + stepCount % 3 : 0
                guard let replica = try replayed(reader, limit: limit, at: date) else { continue }
                // The tags too.
                guard youngest == nil || replica.replica == youngest?.replica else {
                    throw FeedFailure(
                        step: nil,
                        message: "\(place.user) holds \(place.place) in other versions than another token gives")
                }
                youngest = replica
            }
            if let youngest { replicas.keep(youngest) }
            kept[place] = replicas
            await Task.yield()
        }
    }

    /// The reader at the end of its pages; nil if it is refused, as it may be.
    private func replayed(_ reader: FeedReader, limit: Int = 0, at date: Date) throws -> FeedReader? {
        var reader = reader
        for _ in 0..<FeedSource.maximumPageCount {
            let answer = try source.requestedPage(for: reader, limit: limit)
            _ = try source.outcome(answer, of: reader, at: date)
            guard case .pages(let pages) = answer else { return nil }
            for page in pages { try reader.take(page, limit: limit, source.oracle) }
            guard !reader.isAtEnd else {
                reader.sinceDate = date
                return reader
            }
        }
        throw FeedFailure(step: nil, message: "\(reader.user) reads \(reader.place) on and on")
    }
}

extension FeedPlace {
    /// What a person may read, given these zones.
    static func all(of user: Int, _ zones: [Int]) -> [FeedPlace] {
        let own = zones.contains { SharingHistory.owners[$0] == user }
        let others = zones.contains { SharingHistory.owners[$0] != user }
        return zones.map { .zone($0) } + (own ? [.privateZones] : []) + (others ? [.sharedZones] : [])
    }
}

extension FeedSource {
    /// One page, by the request of the server.
    func requestedPage(for reader: FeedReader, limit: Int) throws -> FeedAnswer {
        let limit = fault == .limitIsIgnored ? 0 : limit
        var answer = FeedAnswer.refused(Outcome.done)
        do {
            switch reader.place {
            case .zone(let zone): answer = .pages([try requestedZonePage(reader, zone, limit)])
            case .privateZones, .sharedZones: answer = .pages([try requestedDatabasePage(reader, limit)])
            }
        } catch let failure as FeedFailure { throw failure } catch { answer = .refused(Outcome(CKError.of(error))) }
        return distorted(answer, reader)
    }

    private func requestedZonePage(_ reader: FeedReader, _ zone: Int, _ limit: Int) throws -> FeedPage {
        let (person, place) = (town.people[reader.user], performer.place(zone))
        let (caller, database) = (caller(reader), person.owns(place) ? DatabaseSelector.private : .shared)
        let request = FetchZoneChangesRequest(
            zone: person.zoneID(place).address, token: reader.token?.bytes, limit: limit)
        let answer = try town.store.service.fetchZoneChanges(request, as: caller, in: database)
        var page = FeedPage(token: CKServerChangeToken(answer.token), isMoreComing: answer.isMoreComing)
        let origin = RecordOrigin(container: caller.container, database: database, account: caller.account)
        for changed in answer.changed {
            let record = CKRecord.from(changed, origin: origin)
            try add(record.recordID, .success(record), to: &page, reader, zone)
        }
        for deleted in answer.deleted {
            try add(CKRecordID(deleted.address), deleted.type, to: &page, reader, zone)
        }
        return page
    }

    private func requestedDatabasePage(_ reader: FeedReader, _ limit: Int) throws -> FeedPage {
        let request = FetchDatabaseChangesRequest(token: reader.token?.bytes, limit: limit)
        let answer = try town.store.service.fetchDatabaseChanges(
            request, as: caller(reader), in: reader.place == .privateZones ? .private : .shared)
        var page = FeedPage(token: CKServerChangeToken(answer.token), isMoreComing: answer.isMoreComing)
        for zone in answer.changed { try add(CKRecordZoneID(zone), nil, to: &page, reader) }
        for deletion in answer.deleted {
            try add(CKRecordZoneID(deletion.zone), "\(deletion.reason)", to: &page, reader)
        }
        return page
    }

    private func caller(_ reader: FeedReader) -> Caller {
        Caller(container: ContainerName(Town.containerName), account: town.people[reader.user].account.accountID)
    }
}
