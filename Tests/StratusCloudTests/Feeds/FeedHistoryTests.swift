// Random histories of one zone with an owner and three participants, and replicas of each reader at many ages, which
// are updated in pages of one to three items while others write in between. What a reader sees is determined without
// any feed, by fetching every name that ever existed. Nothing here knows how feeds work.
//
//   exact     when no more is coming a replica equals what its reader sees
//   honest    a page shows only what its reader sees at that moment, and reports no deletion of what they have not seen
//             since the replica's token
//   silent    a participant whose pages were not disturbed gets the difference and nothing else

import Foundation
import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("feeds: random histories")
struct FeedHistoryTests {
    @Test("[T-06][D-06][D-08][D-12] replicas of any age, paged while others write, equal what their readers see")
    func histories() async throws {
        let seed = SplitMix64.announced("feed histories")
        let environment = ProcessInfo.processInfo.environment
        let count = environment["STRATUS_FEED_HISTORIES"].flatMap { Int($0) } ?? 15
        let first = environment["STRATUS_FIRST_HISTORY"].flatMap { Int($0) } ?? 0
        let findings = try await TestThreads.offPool {
            for index in first..<first + count {
                var history = try FeedHistory(seed.generator(forCase: index), number: index)
                try history.run(stepCount: 100)
                guard history.findings.isEmpty else { return ["history \(index)"] + history.findings }
            }
            return []
        }
        #expect(findings.isEmpty, "\(findings.joined(separator: "\n"))")
    }
}

/// A reader's replica with the step at which its token was complete.
private struct Age {
    var replica = Replica()
    /// The first step from which the reader can have seen the replica's contents.
    var step = 0
    /// Whether the replica is complete and undisturbed.
    var isWhole = true
}

private struct FeedHistory {
    let bench: RecordBench
    let people: [StoredAccount]
    var random: SplitMix64
    var findings: [String] = []
    private var trace: [String] = []
    private var ages: [[Age]]
    /// What each reader saw after each step.
    private var seen: [[Set<String>]] = []
    private var urls: [String: String] = [:]
    private static let records = (0..<12).map { "r\($0)" }
    private static let shares = records.map { "s-\($0)" } + ["cloudkit.zoneshare"]
    private let number: Int

    init(_ random: SplitMix64, number: Int) throws {
        self.random = random
        self.number = number
        let bench = try RecordBench.forSharing(inMemory: true, runsBodiesTwice: false) {
            $0.feedLookCount = number % 3 == 0 ? 3 : 10_000
        }
        self.bench = bench
        people = [bench.alice, bench.bob] + (try ["carol", "dave"].map { try bench.person($0) })
        ages = people.map { _ in [Age()] }
    }

    mutating func run(stepCount: Int) throws {
        try note()
        for step in 0..<stepCount {
            trace.append("--- \(step)")
            try change()
            if number.isMultiple(of: 2) { try forgetPlaces() }
            for (index, reader) in people.enumerated() where random.isOne(in: 2) { try read(reader, index) }
            guard findings.isEmpty else {
                findings += trace
                return
            }
        }
    }

    /// Writes some entries of changes as earlier formats did, without the places of the records.
    private mutating func forgetPlaces() throws {
        try bench.service.engine.transact { transaction in
            let zone = try transaction.existingZone(bench.notesID)
            for change in try zone.changes(after: 0) where !change.kind.isDeletion && random.isOne(in: 4) {
                let entry = ChangeEntry(name: change.name, kind: .saved(.unsaid))
                try transaction.set(zone.keys.change(sequence: change.sequence), to: entry.encoded())
            }
        }
    }

    // MARK: Reading

    /// What a person sees, by fetching every name.
    private func view(_ index: Int) throws -> [String: ClientRecord] {
        let reader = people[index]
        let names = Self.records + Self.shares
        let request = FetchRecordsRequest(
            addresses: names.map { index == 0 ? .note($0) : bench.shared($0) })
        let answers = try bench.service.fetchRecords(
            request, as: bench.caller(reader), in: index == 0 ? .private : .shared)
        var view: [String: ClientRecord] = [:]
        for (name, answer) in zip(names, answers.records) {
            if case .success(let record) = answer { view[name] = record }
        }
        return view
    }

    private mutating func note() throws { seen.append(try people.indices.map { Set(try view($0).keys) }) }

    private mutating func read(_ reader: StoredAccount, _ index: Int) throws {
        // A new client now and then; otherwise a random one, so that some grow old.
        if random.isOne(in: 8) { ages[index].append(Age(step: seen.count - 1)) }
        let place = random.below(ages[index].count)
        var age = ages[index][place]
        let limit = 1 + random.below(3)
        let disturbs = random.isOne(in: 2)
        let wasWhole = age.isWhole
        let before = age.replica
        var told = Told()
        var isDisturbed = false
        for pageNumber in 0..<400 {
            let page: FetchZoneChangesResponse
            do { page = try bench.page(age.replica.token, limit: limit, by: reader) } catch let error as CloudError {
                if try !(view(index).isEmpty && index > 0 && error.code == .zoneNotFound) {
                    findings.append("reader \(index) place \(place): \(error)")
                }
                ages[index][place] = age
                return
            }
            trace.append(
                "reader \(index) age \(place) from step \(age.step): +\(page.changed.map(\.address.recordName)) "
                    + "-\(page.deleted.map(\.address.recordName))\(page.isMoreComing ? " …" : "")")
            try check(page, index, age)
            age.replica.apply(page)
            told.add(page)
            guard page.isMoreComing else {
                try compare(age.replica, index)
                if index > 0, wasWhole, !isDisturbed { checkSilence(told, before, age.replica, index) }
                age.step = seen.count - 1
                age.isWhole = true
                ages[index][place] = age
                return
            }
            age.isWhole = false
            // Now and then a client stops in the middle, and continues much later.
            if random.isOne(in: 12) {
                ages[index][place] = age
                return
            }
            if disturbs, pageNumber < 60, random.isOne(in: 2) {
                isDisturbed = true
                try change()
            }
        }
        findings.append("reader \(index): the pages do not end")
    }

    private mutating func check(_ page: FetchZoneChangesResponse, _ index: Int, _ age: Age) throws {
        let now = try view(index)
        for record in page.changed where now[record.address.recordName]?.changeTag != record.changeTag {
            findings.append("reader \(index) is shown \(record.address.recordName), which they do not see so")
        }
        for deletion in page.deleted {
            let name = deletion.address.recordName
            // The owner's feed reports every deletion, except those from before a client's beginning.
            if index == 0 { continue }
            if !seen[age.step...].contains(where: { $0[index].contains(name) }) {
                findings.append("reader \(index) got a deletion of \(name), which they have not seen")
            }
            let type = name.hasPrefix("r") ? "Note" : "cloudkit.share"
            if deletion.type != type { findings.append("\(name) is gone as a \(deletion.type)") }
        }
    }

    private mutating func compare(_ replica: Replica, _ index: Int) throws {
        let now = try view(index)
        for name in Set(now.keys).union(replica.names).sorted() {
            var (own, true_) = (replica.records[name], now[name])
            own?.sharing = nil
            true_?.sharing = nil
            if own != true_ {
                findings.append(
                    "reader \(index): \(name) is \(own.map { $0.changeTag } ?? "missing"), should be "
                        + "\(true_.map { $0.changeTag } ?? "gone")")
            }
        }
    }

    private mutating func checkSilence(_ told: Told, _ before: Replica, _ after: Replica, _ index: Int) {
        let gone = before.names.filter { after.records[$0] == nil }
        let changed = after.names.filter { before.records[$0]?.changeTag != after.records[$0]?.changeTag }
        if told.deleted != gone || told.changed != changed {
            findings.append(
                "reader \(index) got +\(told.changed) -\(told.deleted), and the difference is +\(changed) -\(gone)")
        }
    }

    // MARK: Writing

    private mutating func change() throws {
        do { try tryChange() } catch let error as CloudError { trace.append("    refused: \(error.code.rawValue)") }
        try note()
    }

    private mutating func record() -> String { random.element(of: Self.records) }

    private func stored(_ name: String) throws -> ClientRecord? {
        if case .success(let record) = try bench.fetch(.note(name)) { record } else { nil }
    }

    private mutating func tryChange() throws {
        let guest = random.element(of: Array(1..<people.count))
        switch random.below(20) {
        case 0, 1, 2: try saveSome(count: 1)
        case 3: try saveSome(count: 2 + random.below(3))
        case 4, 5, 6: try moveSome(count: 1 + random.below(2))
        case 7: try delete(record())
        case 8: try deleteAll(below: record())
        case 9, 10: try share(record())
        case 11: try shareZone()
        case 12, 13: try accept(guest)
        case 14: try leave(guest)
        case 15, 16: try permit(guest)
        case 17: try stop()
        case 18: try guestSaves(guest)
        default: try moveAndStop()
        }
    }

    private mutating func saveSome(count: Int) throws {
        var saves: [RecordSave] = []
        for name in Set((0..<count).map { _ in record() }).sorted() {
            let text = ClientValue.string("\(random.below(1_000_000))")
            if let stored = try stored(name) {
                saves.append(.change(stored, ["text": text]))
            } else {
                let parent = random.isOne(in: 4) ? nil : record()
                saves.append(.new(name, parent: parent == name ? nil : parent, ["text": text]))
            }
        }
        trace.append("    save \(saves.map { "\($0.address.recordName)<\($0.parent?.target.recordName ?? "-")" })")
        _ = try bench.modify(saves, atomic: random.isOne(in: 2))
    }

    private mutating func moveSome(count: Int) throws {
        var saves: [RecordSave] = []
        for name in Set((0..<count).map { _ in record() }).sorted() {
            guard let stored = try stored(name) else { continue }
            saves.append(RecordSave.change(stored).with(parent: random.isOne(in: 4) ? nil : record()))
        }
        trace.append("    move \(saves.map { "\($0.address.recordName)<\($0.parent?.target.recordName ?? "-")" })")
        _ = try bench.modify(saves)
    }

    private mutating func delete(_ name: String) throws {
        trace.append("    delete \(name)")
        _ = try bench.modify(deleting: [.note(name)])
    }

    private mutating func deleteAll(below top: String) throws {
        var gone = [top]
        for _ in 0..<4 {
            for name in Self.records where !gone.contains(name) {
                if let parent = try stored(name)?.parent?.target.recordName, gone.contains(parent) { gone.append(name) }
            }
        }
        trace.append("    delete \(gone)")
        _ = try bench.modify(deleting: gone.map { .note($0) })
    }

    private mutating func share(_ root: String) throws {
        guard let stored = try stored(root) else { return }
        trace.append("    share \(root)")
        let claims = ["bob", "carol", "dave"].filter { _ in !random.isOne(in: 4) }
            .map { ParticipantClaim.email("\($0)@example.com") }
        let share = RecordSave.share("s-\(root)", root: root, with: claims)
        let answers = try bench.modify([.change(stored), share]).saves
        if case .success(let record) = answers[1] { urls["s-\(root)"] = record.sharing?.url }
        for guest in 1..<people.count where random.isOne(in: 2) { try accept(guest) }
    }

    private mutating func shareZone() throws {
        trace.append("    share the zone")
        if random.isOne(in: 2) { _ = try bench.modify(deleting: liveShares().map { .note($0) }) }
        let claims = ["bob", "carol", "dave"].map { ParticipantClaim.email("\($0)@example.com") }
        let answers = try bench.modify([.share("cloudkit.zoneshare", root: nil, with: claims)]).saves
        if case .success(let record) = answers[0] { urls["cloudkit.zoneshare"] = record.sharing?.url }
    }

    private func liveShares() throws -> [String] { try Self.shares.filter { try stored($0) != nil } }

    private mutating func accept(_ guest: Int) throws {
        for share in try liveShares() where !random.isOne(in: 3) {
            guard let url = urls[share] else { continue }
            trace.append("    \(guest) accepts \(share)")
            _ = try bench.service.acceptShares([url], as: bench.caller(people[guest]))
        }
    }

    private mutating func leave(_ guest: Int) throws {
        let shares = try liveShares()
        guard !shares.isEmpty else { return }
        let share = random.element(of: shares)
        trace.append("    \(guest) leaves \(share)")
        _ = try bench.modify(deleting: [bench.shared(share)], by: people[guest], in: .shared)
    }

    private mutating func permit(_ guest: Int) throws {
        let shares = try liveShares()
        guard !shares.isEmpty else { return }
        let share = random.element(of: shares)
        let permission = random.element(of: [ParticipantPermission.none, .readOnly, .readWrite, .readWrite])
        let removes = random.isOne(in: 4)
        let record = try bench.fetch(.note(share)).get()
        var save = RecordSave.change(record)
        guard var claim = record.sharing?.claim,
            let own = record.sharing?.participants.first(where: { $0.identity.userName == people[guest].userName.text }
            ),
            let place = claim.participants.firstIndex(where: { $0.id == own.id })
        else { return }
        trace.append("    \(guest) in \(share): \(removes ? "removed" : "\(permission)")")
        if removes { claim.participants.remove(at: place) } else { claim.participants[place].permission = permission }
        save.sharing = claim
        _ = try bench.modify([save])
    }

    private mutating func stop() throws {
        let shares = try liveShares()
        guard !shares.isEmpty else { return }
        let share = random.element(of: shares)
        trace.append("    stop \(share)")
        _ = try bench.modify(deleting: [.note(share)])
    }

    /// A record is moved and a share stopped in one commit, so no moment within it matters.
    private mutating func moveAndStop() throws {
        guard let share = try liveShares().first, let stored = try stored(record()) else { return }
        trace.append("    stop \(share) and move \(stored.address.recordName)")
        let save = RecordSave.change(stored).with(parent: random.isOne(in: 4) ? nil : record())
        _ = try bench.modify([save], deleting: [.note(share)])
    }

    private mutating func guestSaves(_ guest: Int) throws {
        let name = record()
        let address = bench.shared(name)
        let text = ClientValue.string("\(random.below(1_000_000))")
        trace.append("    \(guest) saves \(name)")
        if case .success(let stored) = try bench.fetch(address, by: people[guest], in: .shared) {
            _ = try bench.modify([.change(stored, ["text": text])], by: people[guest], in: .shared)
        } else {
            _ = try bench.modify(
                [.new(address, parent: record(), ["text": text])], by: people[guest], in: .shared)
        }
    }
}
