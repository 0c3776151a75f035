// Reads the feeds like a client: page by page with the calls of `CKDatabase`, or everything with an operation. Answers
// are checked for well-formedness and converted to plain values; `fault` distorts them, to show that the checks detect
// it.

import Foundation
import StratusKit
import StratusSharingSupport

/// The feeds of a town.
struct FeedSource {
    /// A reader with this many pages makes no progress.
    static let maximumPageCount = 100
    /// The store's default history.
    private static let historySeconds = 30.0 * 24 * 3600

    let performer: SharingPerformer
    let fault: FeedFault?
    let oracle: FeedOracle

    var town: Town { performer.town }

    /// One page.
    func page(for reader: FeedReader, limit: Int) async throws -> FeedAnswer {
        let asked = fault == .limitIsIgnored ? nil : limit == 0 ? nil : limit
        var answer = FeedAnswer.refused(Outcome.done)
        do {
            switch reader.place {
            case .zone(let zone): answer = .pages([try await zonePage(reader, zone, asked)])
            case .privateZones, .sharedZones: answer = .pages([try await databasePage(reader, asked)])
            }
        } catch let failure as FeedFailure { throw failure } catch { answer = .refused(Outcome(error)) }
        return distorted(answer, reader)
    }

    private func zonePage(_ reader: FeedReader, _ zone: Int, _ limit: Int?) async throws -> FeedPage {
        let (person, place) = (town.people[reader.user], performer.place(zone))
        let answer = try await person.database(place).recordZoneChanges(
            inZoneWith: person.zoneID(place), since: reader.token, desiredKeys: nil, resultsLimit: limit)
        var page = FeedPage(token: answer.changeToken, isMoreComing: answer.moreComing)
        for (id, result) in answer.modificationResultsByID {
            try add(id, result.map(\.record), to: &page, reader, zone)
        }
        for deletion in answer.deletions { try add(deletion.recordID, deletion.recordType, to: &page, reader, zone) }
        return page
    }

    private func databasePage(_ reader: FeedReader, _ limit: Int?) async throws -> FeedPage {
        let answer = try await database(of: reader).databaseChanges(since: reader.token, resultsLimit: limit)
        var page = FeedPage(token: answer.changeToken, isMoreComing: answer.moreComing)
        for modification in answer.modifications { try add(modification.zoneID, nil, to: &page, reader) }
        for deletion in answer.deletions { try add(deletion.zoneID, "\(deletion.reason)", to: &page, reader) }
        return page
    }

    func database(of reader: FeedReader) -> CKDatabase {
        let container = town.people[reader.user].container
        return reader.place == .privateZones ? container.privateCloudDatabase : container.sharedCloudDatabase
    }

    // MARK: Answers

    /// The end of an answer, which is valid at that time.
    func outcome(_ answer: FeedAnswer, of reader: FeedReader, at date: Date) throws -> Outcome {
        var outcome = Outcome.done
        if case .refused(let refusal) = answer { outcome = refusal }
        let answers = answers(to: reader, at: date)
        guard answers.contains(outcome) else {
            let wanted = answers.map(\.description).sorted().joined(separator: " or ")
            throw FeedFailure(step: nil, message: "\(reader.user) is answered \(outcome), and not \(wanted)")
        }
        return outcome
    }

    /// How a reader may be answered.
    private func answers(to reader: FeedReader, at date: Date) -> Answers {
        if oracle.isSuspended(reader.user) { return .refused(.notAuthenticated) }
        if case .zone(let zone) = reader.place {
            // T-10, D-08.
            guard oracle.view(reader.user, zone, at: oracle.moment) != nil else { return .refused(.zoneNotFound) }
            // T-09.
            if reader.token != nil, reader.birth != oracle.birth(of: zone) { return .refused(.changeTokenExpired) }
        }
        let age = reader.sinceDate.map { date.timeIntervalSince($0) } ?? 0
        let isOld = reader.token != nil && age >= Self.historySeconds
        return isOld ? [.done, .refused(.changeTokenExpired)] : .done
    }

    // MARK: Entries

    private func name(of id: CKRecord.ID, _ reader: FeedReader, _ zone: Int) throws -> String {
        guard id.zoneID == town.people[reader.user].zoneID(performer.place(zone)) else {
            throw FeedFailure(step: nil, message: "a record of another zone is reported: \(id)")
        }
        return id.recordName
    }

    func add(
        _ id: CKRecord.ID, _ result: Result<CKRecord, any Error>, to page: inout FeedPage, _ reader: FeedReader,
        _ zone: Int
    ) throws {
        let name = try name(of: id, reader, zone)
        let record: CKRecord
        do { record = try result.get() } catch {
            throw FeedFailure(step: nil, message: "instead of \(name) there is an error: \(Outcome(error))")
        }
        guard record.recordID == id else {
            throw FeedFailure(step: nil, message: "\(name) is reported under another name")
        }
        guard page.changed.updateValue(told(record, to: reader.user), forKey: name) == nil else {
            throw FeedFailure(step: nil, message: "one page reports \(name) twice")
        }
        page.entryCount += 1
    }

    func told(_ record: CKRecord, to user: Int) -> ToldRecord {
        ToldRecord(text: town.view(of: record, to: user), tag: record.recordChangeTag)
    }

    func add(
        _ id: CKRecord.ID, _ type: String, to page: inout FeedPage, _ reader: FeedReader, _ zone: Int
    ) throws {
        let name = try name(of: id, reader, zone)
        guard page.deleted.updateValue(type, forKey: name) == nil else {
            throw FeedFailure(step: nil, message: "one page deletes \(name) twice")
        }
        page.entryCount += 1
    }

    /// A zone that changed, or with a reason one that was deleted.
    func add(_ id: CKRecordZone.ID, _ reason: String?, to page: inout FeedPage, _ reader: FeedReader) throws {
        let person = town.people[reader.user]
        let zone = SharingHistory.zoneNames.indices.first { person.zoneID(performer.place($0)) == id }
        let isForeign = zone.map { !person.owns(performer.place($0)) }
        guard let zone, isForeign == (reader.place == .sharedZones) else {
            throw FeedFailure(step: nil, message: "the database tells of a zone of another one: \(id)")
        }
        let name = SharingHistory.zoneNames[zone]
        let isFirst =
            reason.map { page.deleted.updateValue($0, forKey: name) == nil }
            ?? (page.changed.updateValue(ToldRecord(text: "", tag: nil), forKey: name) == nil)
        guard isFirst else { throw FeedFailure(step: nil, message: "one page tells the zone \(name) twice") }
        page.entryCount += 1
    }
}
