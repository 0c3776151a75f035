// Random histories of a zone with an owner and two participants, each with devices and subscriptions, and an oracle
// that knows nothing of outboxes: it fetches every name that ever existed for every person before and after each step,
// and compares the two views.
//
//   own zones        notified if any record differs, of the subscribed type
//   shared ones      notified if and only if what the person sees differs
//   queries          created, updated and deleted follow from the record's values before and after
//   never            the device that did it, a person who sees nothing of it, the same twice

import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("subscriptions: random histories")
struct SubscriptionHistoryTests {
    /// The server's cache of subscriptions: the real one, none, and a small one.
    private static let keptByteCounts = [nil, 0, 3_000]

    private static func findings(count: Int, stepCount: Int, _ fault: PlantedTelling?) throws -> [String] {
        let seed = SplitMix64.announced("subscription histories")
        for index in 0..<count {
            // Every other history delivers late: a planted fault is searched where each step is delivered by itself.
            let isLate = fault == nil && index % 2 == 1
            let keptByteCount = fault == nil ? keptByteCounts[index / 2 % keptByteCounts.count] : nil
            var history = try TellingHistory(
                seed.generator(forCase: index), fault, isLate: isLate, keptByteCount: keptByteCount)
            try history.run(stepCount: stepCount)
            guard history.findings.isEmpty else { return ["history \(index)"] + history.findings }
        }
        return []
    }

    @Test(
        "[N-04][N-05][D-12] in random histories every device has exactly the hints that the views before and after imply"
    )
    func histories() async throws {
        let environment = ProcessInfo.processInfo.environment
        let count = environment["STRATUS_SUBSCRIPTION_HISTORIES"].flatMap { Int($0) } ?? 12
        let findings = try await TestThreads.offPool { try Self.findings(count: count, stepCount: 60, nil) }
        #expect(findings.isEmpty, "\(findings.joined(separator: "\n"))")
    }

    @Test(
        "a hint that is lost, doubled, sent to its writer or an outsider, or based on a stale cache, is found",
        arguments: PlantedTelling.allCases.filter { TestStores.letCachesAnswer || $0 != .unheard })
    fileprivate func planted(fault: PlantedTelling) async throws {
        let findings = try await TestThreads.offPool { try Self.findings(count: 4, stepCount: 60, fault) }
        #expect(!findings.isEmpty)
    }
}

/// Changes the notifications, so that the test shows that the oracle detects it.
private enum PlantedTelling: CaseIterable {
    case lost
    case doubled
    case toOrigin
    case toOutsider
    /// Subscriptions are saved and deleted by another server on the same store, without this one noticing.
    case unheard
}

/// A record as a person sees it.
private struct Seen: Equatable {
    let type: String
    let tag: String
    let size: Int64?
    let isShare: Bool
}

private struct TellingHistory {
    let bench: RecordBench
    let people: [StoredAccount]
    var random: SplitMix64
    var findings: [String] = []
    private let fault: PlantedTelling?
    private var trace: [String] = []
    private var urls: [String: String] = [:]
    /// Whether a step was committed by a device, by person.
    private var origin: (person: Int, device: String)?
    /// Whether several steps are delivered at once.
    private let isLate: Bool
    /// The notifications that each device must get with the next delivery, by person and device.
    private var due: [[String: Set<String>]] = []
    /// The devices that have written since the last delivery.
    private var active: [Set<String>] = []
    /// Who saves subscriptions and deletes them.
    private let subscriber: CloudService
    /// The identifiers of subscriptions that are there, by person.
    private var subscribed: [Set<String>] = [[], [], []]
    private static let records = (0..<8).map { "r\($0)" }
    private static let shares = records.map { "s-\($0)" } + ["cloudkit.zoneshare"]
    private static let devices = ["phone", "pad"]

    init(_ random: SplitMix64, _ fault: PlantedTelling?, isLate: Bool, keptByteCount: Int?) throws {
        self.random = random
        self.fault = fault
        self.isLate = isLate
        bench = try RecordBench.forSharing(inMemory: true, runsBodiesTwice: false) {
            if let keptByteCount { $0.keptSubscriptionByteCount = keptByteCount }
        }
        people = [bench.alice, bench.bob, try bench.person("carol")]
        for person in people { for device in Self.devices { try bench.register(person, device) } }
        try bench.save(.new("start", ["size": .int64(0)]), .new("task", type: "Task", ["size": .int64(0)]))
        subscriber =
            fault == .unheard
            ? CloudService(engine: bench.service.engine, environment: bench.service.environment) : bench.service
        for index in people.indices {
            for subscription in Self.subscriptions(of: index) { try subscribe(index, subscription) }
        }
        try bench.deliver()
        for person in people { for device in Self.devices { _ = try bench.take(person, device) } }
    }

    mutating func run(stepCount: Int) throws {
        for step in 0..<stepCount {
            trace.append("--- \(step)")
            let before = try people.indices.map { try view($0) }
            origin = nil
            // A late delivery uses the subscriptions that exist then.
            if !isLate, random.isOne(in: 3) { try resubscribe() }
            do { try change() } catch let error as CloudError { trace.append("    refused: \(error.code.rawValue)") }
            let after = try people.indices.map { try view($0) }
            if isLate { try compareLate(before, after) } else { try compare(before, after) }
            guard findings.isEmpty else {
                findings += trace.suffix(12)
                return
            }
        }
        if isLate { try bench.deliver() }
        findings += try bench.subscriptionFindings()
        if try bench.outboxCount() > 0 { findings.append("the outbox is not empty") }
    }

    // MARK: Subscriptions

    /// What a person subscribes to: the owner to their private database, the others to their shared one.
    private static func subscriptions(of index: Int) -> [ClientSubscription] {
        guard index == 0 else { return [.database("s")] }
        return [
            .database("d"), .database("dt", type: "Task"), .zone("z"), .zone("zt", type: "Task"),
            .query("q", .isSize(1)), .query("c", .isSize(1), triggers: .creation),
        ]
    }

    private mutating func subscribe(_ index: Int, _ subscription: ClientSubscription) throws {
        let request = ModifySubscriptionsRequest(saves: [subscription])
        for result in try modify(request, by: index).saves { _ = try result.get() }
        subscribed[index].insert(subscription.id)
    }

    private func modify(
        _ request: ModifySubscriptionsRequest, by index: Int
    ) throws -> ModifySubscriptionsResponse {
        try subscriber.modifySubscriptions(
            request, as: bench.caller(people[index]), in: index == 0 ? .private : .shared)
    }

    /// A person saves a missing subscription, or deletes one, or all of them.
    private mutating func resubscribe() throws {
        let index = random.below(people.count)
        let known = Self.subscriptions(of: index)
        let chosen = random.isOne(in: 3) ? known : [random.element(of: known)]
        for subscription in chosen {
            guard subscribed[index].contains(subscription.id) else {
                trace.append("    \(index) subscribes to \(subscription.id)")
                try subscribe(index, subscription)
                continue
            }
            trace.append("    \(index) ends \(subscription.id)")
            for result in try modify(ModifySubscriptionsRequest(deletes: [subscription.id]), by: index).deletes {
                _ = try result.get()
            }
            subscribed[index].remove(subscription.id)
        }
    }

    // MARK: The oracle

    private func view(_ index: Int) throws -> [String: Seen] {
        let names = Self.records + Self.shares
        let request = FetchRecordsRequest(addresses: names.map { index == 0 ? .note($0) : bench.shared($0) })
        let answers = try bench.service.fetchRecords(
            request, as: bench.caller(people[index]), in: index == 0 ? .private : .shared)
        var view: [String: Seen] = [:]
        for (name, answer) in zip(names, answers.records) {
            guard case .success(let record) = answer else { continue }
            var size: Int64?
            if case .int64(let number)? = record.fields["size"]?.value { size = number }
            view[name] = Seen(
                type: record.type, tag: record.changeTag, size: size, isShare: record.type == "cloudkit.share")
        }
        return view
    }

    /// The lines that a person's devices must have, except the writing device.
    private func expected(_ index: Int, _ before: [String: Seen], _ after: [String: Seen]) -> Set<String> {
        lines(index, before, after).filter { line in
            subscribed[index].contains(String(line.prefix { $0 != " " }))
        }
    }

    /// The lines of all subscriptions that a person may have.
    private func lines(_ index: Int, _ before: [String: Seen], _ after: [String: Seen]) -> Set<String> {
        let changed = Set(before.keys).union(after.keys).filter { before[$0] != after[$0] }
        guard !changed.isEmpty else { return [] }
        guard index == 0 else { return ["s shared"] }
        var lines: Set<String> = ["d private", "z Notes"]
        if changed.contains(where: { (after[$0] ?? before[$0])?.type == "Task" }) {
            lines.formUnion(["dt private", "zt Notes"])
        }
        for name in changed {
            func matches(_ seen: Seen?) -> Bool { seen?.type == "Note" && seen?.size == 1 }
            switch (matches(before[name]), matches(after[name])) {
            case (false, true): lines.formUnion(["q created \(name)", "c created \(name)"])
            case (true, true): lines.insert("q updated \(name)")
            case (true, false): lines.insert("q deleted \(name)")
            case (false, false): break
            }
        }
        return lines
    }

    private mutating func compare(_ before: [[String: Seen]], _ after: [[String: Seen]]) throws {
        try bench.deliver()
        for (index, person) in people.enumerated() {
            let lines = expected(index, before[index], after[index])
            for device in Self.devices {
                let isOrigin = origin.map { $0.person == index && $0.device == device } ?? false
                var told = try bench.take(person, device).map(\.line)
                plant(&told, isOrigin: isOrigin, isOutsider: after[index].isEmpty && before[index].isEmpty)
                let wanted = isOrigin ? [] : lines.sorted()
                if told.sorted() != wanted {
                    findings.append("\(index) on \(device) gets \(told.sorted()), should get \(wanted)")
                }
            }
        }
    }

    /// Steps are collected, and delivered together now and then. No device gets a notification that no step caused.
    /// Every expected notification arrives, except on a device that has itself written since: it may have caused the
    /// change. The reason why a query fired depends on the combined steps.
    private mutating func compareLate(_ before: [[String: Seen]], _ after: [[String: Seen]]) throws {
        if due.isEmpty {
            due = people.map { _ in [:] }
            active = people.map { _ in [] }
        }
        for index in people.indices {
            for device in Self.devices {
                if let origin, origin.person == index, origin.device == device {
                    active[index].insert(device)
                } else {
                    due[index][device, default: []].formUnion(
                        expected(index, before[index], after[index]).map(Self.withoutReason))
                }
            }
        }
        guard random.isOne(in: 5) else { return }
        trace.append("    deliver")
        try bench.deliver()
        for (index, person) in people.enumerated() {
            for device in Self.devices {
                let told = Set(try bench.take(person, device).map(\.line).map(Self.withoutReason))
                let wanted = due[index][device] ?? []
                let mayLack = index > 0 && active[index].contains(device)
                if mayLack ? !told.isSubset(of: wanted) : told != wanted {
                    findings.append("\(index) on \(device) gets \(told.sorted()), should get \(wanted.sorted())")
                }
            }
        }
        due = []
    }

    private static func withoutReason(_ line: String) -> String {
        let words = line.split(separator: " ")
        return words.count == 3 ? "\(words[0]) \(words[2])" : line
    }

    private func plant(_ told: inout [String], isOrigin: Bool, isOutsider: Bool) {
        switch fault {
        case nil: break
        case .lost: if !told.isEmpty { told.removeLast() }
        case .doubled: if let last = told.last { told.append(last) }
        case .toOrigin: if isOrigin { told.append("d private") }
        case .toOutsider: if isOutsider { told.append("s shared") }
        case .unheard: break
        }
    }

    // MARK: Steps

    private mutating func change() throws {
        let guest = 1 + random.below(people.count - 1)
        switch random.below(20) {
        case 0, 1, 2, 3: try save(count: 1 + random.below(3))
        case 4, 5, 6, 7: try move()
        case 8: try remove()
        case 9, 10: try share()
        case 11, 12, 13, 14: try accept(guest)
        case 15: try leave(guest)
        case 16, 17: try permit(guest)
        case 18: try guestSaves(guest)
        default: try stopOrShareWhole()
        }
    }

    /// Somebody's caller, on one of their devices or on none.
    private mutating func caller(_ index: Int) -> Caller {
        let device = random.isOne(in: 3) ? nil : random.element(of: Self.devices)
        if let device { origin = (index, device) }
        trace.append("    by \(index) on \(device ?? "-")")
        return bench.caller(people[index], on: device)
    }

    private mutating func modify(_ saves: [RecordSave], _ deletes: [RecordAddress] = [], by index: Int = 0) throws {
        trace.append("    save \(saves.map(\.address.recordName)) delete \(deletes.map(\.recordName))")
        let request = ModifyRecordsRequest(
            saves: saves, deletes: deletes, policy: .allKeys, isAtomic: random.isOne(in: 2))
        let answer = try bench.service.modifyRecords(request, as: caller(index), in: index == 0 ? .private : .shared)
        for case .success(let record) in answer.saves {
            if let url = record.sharing?.url { urls[record.address.recordName] = url }
        }
    }

    private mutating func record() -> String { random.element(of: Self.records) }

    private func stored(_ name: String) throws -> ClientRecord? {
        if case .success(let record) = try bench.fetch(.note(name)) { record } else { nil }
    }

    private mutating func save(count: Int) throws {
        var saves: [RecordSave] = []
        for name in Set((0..<count).map { _ in record() }).sorted() {
            let size = ClientValue.int64(Int64(random.below(3)))
            if let stored = try stored(name) {
                saves.append(.change(stored, ["size": size]))
            } else {
                let parent = random.isOne(in: 3) ? nil : record()
                saves.append(
                    .new(
                        name, type: random.isOne(in: 3) ? "Task" : "Note", parent: parent == name ? nil : parent,
                        ["size": size]))
            }
        }
        try modify(saves)
    }

    private mutating func move() throws {
        guard let stored = try stored(record()) else { return }
        try modify([RecordSave.change(stored).with(parent: random.isOne(in: 3) ? nil : record())])
    }

    private mutating func remove() throws { try modify([], [.note(record())]) }

    private mutating func share() throws {
        let root = record()
        guard let stored = try stored(root) else { return }
        let claims = ["bob", "carol"].filter { _ in !random.isOne(in: 4) }
            .map { ParticipantClaim.email("\($0)@example.com") }
        try modify([.change(stored), .share("s-\(root)", root: root, with: claims)])
    }

    private func liveShares() throws -> [String] { try Self.shares.filter { try stored($0) != nil } }

    private mutating func accept(_ guest: Int) throws {
        let shares = try liveShares()
        guard !shares.isEmpty, let url = urls[random.element(of: shares)] else { return }
        trace.append("    accept")
        _ = try bench.service.acceptShares([url], as: caller(guest))
    }

    private mutating func leave(_ guest: Int) throws {
        let shares = try liveShares()
        guard !shares.isEmpty else { return }
        try modify([], [bench.shared(random.element(of: shares))], by: guest)
    }

    private mutating func permit(_ guest: Int) throws {
        let shares = try liveShares()
        guard !shares.isEmpty, let record = try stored(random.element(of: shares)),
            var claim = record.sharing?.claim,
            let own = record.sharing?.participants.first(where: {
                $0.identity.userName == people[guest].userName.text
            }), let place = claim.participants.firstIndex(where: { $0.id == own.id })
        else { return }
        if random.isOne(in: 4) {
            claim.participants.remove(at: place)
        } else {
            claim.participants[place].permission = random.element(of: ParticipantPermission.allCases)
        }
        var save = RecordSave.change(record)
        save.sharing = claim
        try modify([save])
    }

    private mutating func guestSaves(_ guest: Int) throws {
        let names = Self.records.filter { name in
            (try? bench.fetch(bench.shared(name), by: people[guest], in: .shared).get()) != nil
        }
        guard !names.isEmpty else { return }
        let record = try bench.fetch(bench.shared(random.element(of: names)), by: people[guest], in: .shared).get()
        try modify([.change(record, ["size": .int64(Int64(random.below(3)))])], by: guest)
    }

    private mutating func stopOrShareWhole() throws {
        let shares = try liveShares()
        guard shares.isEmpty || random.isOne(in: 2) else {
            return try modify([], [.note(random.element(of: shares))])
        }
        let claims = ["bob", "carol"].map { ParticipantClaim.email("\($0)@example.com") }
        try modify([.share("cloudkit.zoneshare", root: nil, with: claims)], shares.map { .note($0) })
    }
}
