// Carries a history out against a store, by CloudKit's calls alone, and compares after every step: how the step ended,
// what everybody sees of every zone, record and share, and whether URLs stayed what they were.

import Foundation
import StratusKit

/// Where a history and the oracle parted.
struct SharingFailure: Error, CustomStringConvertible {
    /// Nil where the store does not verify in the end.
    let step: SharingStep?
    let message: String

    var description: String { "\(step.map { "after '\($0)': " } ?? "")\(message)" }
}

/// One run of a history.
struct SharingRunner {
    private let history: SharingHistory
    private let town: Town
    private var oracle: SharingOracle
    private var urls: [OracleURL: URL] = [:]
    /// The URL that a share had last, by zone and name, as its owner knows it.
    private var lastURLs: [String: URL] = [:]

    /// Where the history and the oracle part; nil when they never do.
    static func failure(
        of history: SharingHistory, in directory: URL? = nil, fault: SharingFault? = nil
    ) async throws -> SharingFailure? {
        var runner = try SharingRunner(history, directory, fault)
        let town = runner.town
        var failure: SharingFailure?
        do { try await runner.run() } catch let error as SharingFailure { failure = error }
        if directory != nil { await town.close() }
        return failure
    }

    private init(_ history: SharingHistory, _ directory: URL?, _ fault: SharingFault?) throws {
        self.history = history
        town = try Town((0..<SharingHistory.userCount).map { "user\($0)" }, in: directory)
        oracle = SharingOracle(fault: fault)
    }

    private mutating func run() async throws {
        for (index, step) in history.steps.enumerated() {
            let outcome = await carryOut(step)
            let answers = oracle.apply(step)
            guard answers.contains(outcome) else {
                let wanted = answers.map(\.description).sorted().joined(separator: " or ")
                throw SharingFailure(step: step, message: "it is \(outcome), and not \(wanted)")
            }
            for user in 0..<SharingHistory.userCount {
                try await checkZones(of: user, step)
                try await checkRecords(of: user, step)
            }
            let isLast = index == history.steps.count - 1
            if isLast || index % 20 == 19 { try verify(isLast) }
        }
    }

    private func verify(_ isLast: Bool) throws {
        let findings = try town.findings()
        guard findings.isEmpty else {
            throw SharingFailure(step: nil, message: "the store does not verify: \(findings.joined(separator: "; "))")
        }
        guard isLast else { return }
        // Also when the background work has been done.
        try town.store.performUpkeep()
        let later = try town.findings()
        guard later.isEmpty else {
            throw SharingFailure(
                step: nil, message: "the store does not verify after upkeep: \(later.joined(separator: "; "))")
        }
    }

    // MARK: Steps

    private func place(_ zone: Int) -> Place { Place(SharingHistory.zoneNames[zone], of: town.people[zone]) }

    private func carryOut(_ step: SharingStep) async -> Outcome {
        switch step {
        case .create(let zone): return await town.people[zone].make(place(zone))
        case .drop(let zone): return await town.people[zone].drop(place(zone))
        case .suspend(let user), .restore(let user):
            let isGood = if case .restore = step { true } else { false }
            return await Outcome.of {
                try town.store.setStanding(isGood ? .good : .suspended, of: town.people[user].account)
            }
        case .save(let user, let zone, let name, let above, let value):
            return await save(name, above, value, by: town.people[user], place(zone))
        case .delete(let user, let zone, let name): return await town.people[user].delete(name, in: place(zone))
        case .share(let user, let zone, let root, let share):
            return await town.people[user].share(root, as: share, in: place(zone))
        case .shareZone(let user, let zone): return await town.people[user].shareZone(place(zone))
        case .accept(let user, let zone, let share):
            guard let url = lastURLs["\(zone)/\(share)"] else { return .done }
            return await town.people[user].accept(url)
        default: return await edit(step)
        }
    }

    private func edit(_ step: SharingStep) async -> Outcome {
        switch step {
        case .invite(let user, let zone, let share, let other, let permission, let role):
            return await town.people[user].invite(
                town.people[other], to: share, permission: permission, role: role, in: place(zone))
        case .remove(let user, let zone, let share, let other):
            return await town.people[user].remove(town.people[other], from: share, in: place(zone))
        case .permit(let user, let zone, let share, let other, let permission):
            return await town.people[user].change(town.people[other], of: share, in: place(zone)) {
                $0.permission = permission
            }
        case .publish(let user, let zone, let share, let permission):
            return await town.people[user].publish(share, permission, in: place(zone))
        case .rename(let user, let zone, let share, let title):
            return await town.people[user].rename(share, "\(title)", in: place(zone))
        default: return .strange("the step is carried out nowhere")
        }
    }

    /// Saves what can be fetched, else a record that is new to the person. Participants leave a root's parent alone.
    private func save(
        _ name: String, _ above: PlacedAbove, _ value: Int, by person: Person, _ place: Place
    ) async -> Outcome {
        let found = try? await person.record(name, in: place)
        let record = found ?? person.fresh(name, in: place)
        record[Person.valueKey] = value
        if person.owns(place) || record.share == nil {
            switch above {
            case .kept: break
            case .nothing: record.setParent(nil as CKRecord.ID?)
            case .record(let parent): record.setParent(person.recordID(parent, in: place))
            }
        }
        return await person.save(
            record, in: place, policy: found == nil ? .changedKeys : .ifServerRecordUnchanged)
    }

    // MARK: Views

    private func checkZones(of user: Int, _ step: SharingStep) async throws {
        var found = ""
        do {
            let zones = try await town.people[user].container.sharedCloudDatabase.allRecordZones()
            found = zones.map { $0.zoneID.zoneName + ($0.share == nil ? "" : "*") }.sorted().joined(separator: " ")
        } catch { found = "\(Outcome(error))" }
        try compare(found, oracle.sharedZones(of: user), "\(user) sees the zones", step)
    }

    /// All records, every share that there ever was, and the one that the step was to make.
    private func names(inZone zone: Int, _ step: SharingStep) -> [String] {
        var shares = Set(oracle.urls[zone, default: [:]].keys)
        shares.insert(SharingHistory.zoneShare)
        if case .share(_, zone, _, let share) = step { shares.insert(share) }
        return SharingHistory.recordNames + shares
    }

    private mutating func checkRecords(of user: Int, _ step: SharingStep) async throws {
        let person = town.people[user]
        for isOwn in [true, false] {
            let zones = history.zones.filter { ($0 == user) == isOwn }
            let ids = zones.flatMap { zone in
                names(inZone: zone, step).map { (zone, $0, person.recordID($0, in: place(zone))) }
            }
            guard !ids.isEmpty else { continue }
            let database = isOwn ? person.container.privateCloudDatabase : person.container.sharedCloudDatabase
            var answers: [CKRecord.ID: Result<CKRecord, any Error>] = [:]
            var refusal: Outcome?
            do { answers = try await database.records(for: ids.map { $0.2 }) } catch { refusal = Outcome(error) }
            for (zone, name, id) in ids {
                var found = "\(refusal ?? Outcome(answers[id]))"
                if let record = try? answers[id]?.get() { found = view(of: record, to: user) }
                let wanted = oracle.view(name, of: user, zone)
                try compare(found, wanted, "\(user) sees \(SharingHistory.zoneNames[zone]) \(name) as", step)
                if let share = try? answers[id]?.get() as? CKShare { try checkURL(of: share, zone, step) }
            }
        }
    }

    private func compare(_ found: String, _ wanted: String, _ what: String, _ step: SharingStep) throws {
        guard found != wanted else { return }
        throw SharingFailure(step: step, message: "\(what) '\(found)', and not '\(wanted)'")
    }

    private func view(of record: CKRecord, to user: Int) -> String {
        guard let share = record as? CKShare else {
            return RecordView.text(
                value: record[Person.valueKey] as? Int ?? 0, parent: record.parent?.recordID.recordName,
                share: record.share?.recordID.recordName)
        }
        let participants = share.participants.map { participant in
            let number = town.people.firstIndex { town.people[user].isIdentity(participant.userIdentity, of: $0) }
            return RecordView.text(
                user: number ?? -1, role: participant.role, permission: participant.permission,
                hasAccepted: participant.acceptanceStatus == .accepted,
                isSelf: participant.participantID == share.currentUserParticipant?.participantID)
        }
        let title = share[CKShare.SystemFieldKey.title] as? String
        return RecordView.text(
            publicPermission: share.publicPermission, title: title.flatMap { Int($0) }, participants: participants)
    }

    /// A URL belongs to a root for ever, and to no other (X-26).
    private mutating func checkURL(of share: CKShare, _ zone: Int, _ step: SharingStep) throws {
        let name = share.recordID.recordName
        guard let url = share.url, let key = oracle.urls[zone]?[name] else {
            throw SharingFailure(step: step, message: "the saved share \(name) has no URL")
        }
        lastURLs["\(zone)/\(name)"] = url
        if let known = urls[key] {
            guard known == url else {
                throw SharingFailure(step: step, message: "the URL of \(name) is not what it was")
            }
        } else if urls.values.contains(url) {
            throw SharingFailure(step: step, message: "the URL of \(name) is that of another root")
        }
        urls[key] = url
    }
}

extension Town {
    /// Closes the store, on a thread that may wait.
    func close() async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                self.store.close()
                continuation.resume()
            }
        }
    }
}
