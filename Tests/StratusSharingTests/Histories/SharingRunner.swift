// Runs a history on a store, only by CloudKit's calls, and compares after every step: how the step ended, what everyone
// sees of every zone, record and share, and whether URLs stayed what they were; after some what queries find. After
// every step the store verifies, on disk after every fifth.

import Foundation
import StratusKit
import StratusSharingSupport

/// Where a history and the oracle parted.
struct SharingFailure: Error, CustomStringConvertible {
    /// Nil if the store does not verify in the end.
    let step: SharingStep?
    let message: String

    var description: String { "\(step.map { "after '\($0)': " } ?? "")\(message)" }
}

/// One run of a history.
struct SharingRunner {
    private let history: SharingHistory
    private let town: Town
    private var performer: SharingPerformer
    private var oracle: SharingOracle
    private var urls: [OracleURL: URL] = [:]
    private var hasSavedRecords = false
    private let isInMemory: Bool

    /// Where the history and the oracle differ; nil if they never do.
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
        isInMemory = directory == nil
        performer = try SharingPerformer(in: directory)
        town = performer.town
        oracle = SharingOracle(fault: fault)
    }

    private mutating func run() async throws {
        for (index, step) in history.steps.enumerated() {
            let outcome = await performer.carryOut(step)
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
            if isLast || index % 10 == 9 {
                for user in 0..<SharingHistory.userCount { try await checkQueries(of: user, step) }
            }
            if isLast || isInMemory || index % 5 == 4 { try verify(isLast) }
        }
    }

    private func verify(_ isLast: Bool) throws {
        let findings = try town.findings()
        guard findings.isEmpty else {
            throw SharingFailure(step: nil, message: "the store does not verify: \(findings.joined(separator: "; "))")
        }
        guard isLast else { return }
        // Also after the background work.
        try town.store.performUpkeep()
        let later = try town.findings()
        guard later.isEmpty else {
            throw SharingFailure(
                step: nil, message: "the store does not verify after upkeep: \(later.joined(separator: "; "))")
        }
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

    /// All records, every share that ever existed, and the one that the step was to create.
    private func names(inZone zone: Int, _ step: SharingStep) -> [String] {
        var shares = Set(oracle.urls[zone, default: [:]].keys)
        shares.insert(SharingHistory.zoneShare)
        if case .share(_, zone, _, let share) = step { shares.insert(share) }
        return SharingHistory.recordNames + shares
    }

    private mutating func checkRecords(of user: Int, _ step: SharingStep) async throws {
        let person = town.people[user]
        for isOwn in [true, false] {
            let zones = history.zones.filter { oracle.owns(user, $0) == isOwn }
            let ids = zones.flatMap { zone in
                names(inZone: zone, step).map { (zone, $0, person.recordID($0, in: performer.place(zone))) }
            }
            guard !ids.isEmpty else { continue }
            let database = isOwn ? person.container.privateCloudDatabase : person.container.sharedCloudDatabase
            var answers: [CKRecord.ID: Result<CKRecord, any Error>] = [:]
            var refusal: Outcome?
            do { answers = try await database.records(for: ids.map { $0.2 }) } catch { refusal = Outcome(error) }
            for (zone, name, id) in ids {
                var found = "\(refusal ?? Outcome(answers[id]))"
                if let record = try? answers[id]?.get() { found = town.view(of: record, to: user) }
                let wanted = oracle.view(name, of: user, zone)
                try compare(found, wanted, "\(user) sees \(SharingHistory.zoneNames[zone]) \(name) as", step)
                if let share = try? answers[id]?.get() as? CKShare { try checkURL(of: share, zone, step) }
            }
        }
    }

    /// A query finds exactly what fetches find, in everyone's shared database as in their own (Q-12).
    private mutating func checkQueries(of user: Int, _ step: SharingStep) async throws {
        let person = town.people[user]
        hasSavedRecords = hasSavedRecords || oracle.zones.values.contains { !$0.records.isEmpty }
        // A type without records is unknown (Q-11).
        guard hasSavedRecords else { return }
        let query = CKQuery(recordType: Person.recordType, predicate: NSPredicate(value: true))
        query.sortDescriptors = [NSSortDescriptor(key: Person.valueKey, ascending: false)]
        for zone in history.zones {
            let place = performer.place(zone)
            var found: String
            do {
                let results = try await person.database(place)
                    .records(matching: query, inZoneWith: person.zoneID(place)).matchResults
                let views = try results.map { "\($0.recordName) \(town.view(of: try $1.get(), to: user))" }
                found = views.sorted().joined(separator: ", ")
            } catch { found = "\(Outcome(error))" }
            let views = SharingHistory.recordNames.map { ($0, oracle.view($0, of: user, zone)) }
            let refusal = views.map(\.1).first { $0 == "notAuthenticated" || $0 == "zoneNotFound" }
            let seen = views.filter { $0.1.hasPrefix("value ") }.map { "\($0) \($1)" }
            let wanted = refusal ?? seen.sorted().joined(separator: ", ")
            try compare(found, wanted, "\(user) finds in \(SharingHistory.zoneNames[zone])", step)
        }
    }

    private func compare(_ found: String, _ wanted: String, _ what: String, _ step: SharingStep) throws {
        guard found != wanted else { return }
        throw SharingFailure(step: step, message: "\(what) '\(found)', and not '\(wanted)'")
    }

    /// A URL belongs to one root permanently (X-26).
    private mutating func checkURL(of share: CKShare, _ zone: Int, _ step: SharingStep) throws {
        let name = share.recordID.recordName
        guard let url = share.url, let key = oracle.urls[zone]?[name] else {
            throw SharingFailure(step: step, message: "the saved share \(name) has no URL")
        }
        performer.learn(url, of: name, zone)
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
