// Builds a small world by CloudKit's calls, and lets the person try everything in it.

import Foundation
import StratusKit
import StratusSharingSupport

/// What was tried, and how it ended.
struct SmallTrial: Sendable, CustomStringConvertible {
    let world: SmallWorld
    let attempt: SmallTry
    let outcome: Outcome

    var description: String { "\(world): \(attempt) is \(outcome)" }
}

/// One world in a zone of its own, so that many worlds share a store.
struct SmallWorldBench {
    private let world: SmallWorld
    private let store: Stratus
    private let place: Place
    private let owner: Person
    private let other: Person

    private static let share = "share"
    private var shareName: String { world.kind == .zoneWide ? CKRecordNameZoneWideShare : Self.share }
    /// Who tries.
    private var person: Person { world.role == .owner ? owner : other }

    /// The first person of the town is the owner, the second tries the acts.
    init(_ world: SmallWorld, number: Int, in town: Town) {
        self.world = world
        store = town.store
        owner = town.people[0]
        other = town.people[1]
        place = Place("World\(number)", of: owner)
    }

    /// Every record there is: for each action one in every position, and one root.
    private static func name(_ action: SmallAction, _ position: SmallPosition) -> String {
        position == .root ? "root" : "\(action)-\(position)"
    }

    /// Builds the world, tries everything, and checks the result.
    ///
    /// Throws `TownError` if the world cannot be built, or if the owner finds other records than the oracle.
    func run(_ oracle: SmallOracle) async throws -> [SmallTrial] {
        let url = try await build()
        try checkExplanations(oracle)
        var trials: [SmallTrial] = []
        for attempt in SmallTry.all {
            if attempt == .leave { try await checkEffects(oracle) }
            trials.append(SmallTrial(world: world, attempt: attempt, outcome: await outcome(attempt, url)))
        }
        return trials
    }

    // MARK: Building

    private func build() async throws -> URL {
        try expect(await owner.make(place), "making the zone")
        var parents = ["top": nil, "root": "top"] as [String: String?]
        for action in SmallAction.allCases {
            parents[Self.name(action, .child)] = "root"
            parents[Self.name(action, .grandchild)] = Self.name(action, .child)
            parents[Self.name(action, .sibling)] = "top"
            parents[Self.name(action, .outside)] = .some(nil)
            parents[Self.name(action, .movedIn)] = .some(nil)
            parents[Self.name(action, .movedOut)] = Self.name(action, .child)
        }
        try await save(parents)
        let shared =
            world.kind == .zoneWide
            ? await owner.shareZone(place) : await owner.share("root", as: Self.share, in: place)
        try expect(shared, "sharing")
        guard let url = try await owner.shareRecord(shareName, in: place).url else {
            throw TownError(description: "\(world): a saved share has no URL")
        }
        try await relate(url)
        var moves: [String: String?] = [:]
        for action in SmallAction.allCases {
            moves[Self.name(action, .movedIn)] = Self.name(action, .child)
            moves[Self.name(action, .movedOut)] = .some(nil)
        }
        try await save(moves)
        return url
    }

    /// Brings the person into the relation that the world is about.
    private func relate(_ url: URL) async throws {
        func publish() async throws {
            guard world.publicPermission != .none else { return }
            try expect(await owner.publish(shareName, world.publicPermission, in: place), "publishing")
        }
        if world.role == .publicUser { try await publish() }
        switch world.status {
        case .never: break
        case .accepted where world.role == .owner: break
        case .accepted where world.role == .publicUser: try expect(await other.accept(url), "joining")
        case .pending, .accepted, .removed, .left: try await invite(url)
        case .blocked: try await block(url)
        }
        if world.role != .publicUser { try await publish() }
    }

    private func invite(_ url: URL) async throws {
        let takesPart = world.role != .nobody
        let invited = await owner.invite(
            other, to: shareName, permission: takesPart ? world.permission : .readWrite,
            role: world.role == .administrator ? .administrator : .privateUser, in: place)
        try expect(invited, "inviting")
        if world.status == .pending { return }
        try expect(await other.accept(url), "accepting")
        switch world.status {
        case .removed: try expect(await owner.remove(other, from: shareName, in: place), "removing")
        case .left: try expect(await other.delete(shareName, in: place), "leaving")
        default: break
        }
    }

    private func block(_ url: URL) async throws {
        try expect(await owner.edit(shareName, in: place) { $0.allowsAccessRequests = true }, "allowing requests")
        try expect(await other.requestAccess(url), "asking")
        let blocked = await owner.edit(shareName, in: place) { share in
            guard let request = owner.request(of: other, in: share) else {
                throw TownError(description: "the share does not list who asks")
            }
            share.blockRequesters([request])
            share.allowsAccessRequests = false
        }
        try expect(blocked, "blocking")
    }

    private func save(_ parents: [String: String?]) async throws {
        let records = parents.map { name, parent in
            let record = owner.fresh(name, in: place)
            record[Person.valueKey] = 0
            record.setParent(parent.map { owner.recordID($0, in: place) })
            return record
        }
        let answers = try await owner.database(place)
            .modifyRecords(saving: records, deleting: [], savePolicy: .changedKeys).saveResults
        for record in records { try expect(Outcome(answers[record.recordID]), "saving \(record.recordID.recordName)") }
    }

    private func expect(_ outcome: Outcome, _ what: String) throws {
        guard outcome.isDone else { throw TownError(description: "\(world): \(what) is \(outcome)") }
    }

    // MARK: Trying

    private func outcome(_ attempt: SmallTry, _ url: URL) async -> Outcome {
        switch attempt {
        case .record(let action, let position): return await outcome(action, position)
        case .createRootless: return await person.create("rootless", in: place)
        case .readShare: return await person.read(shareName, in: place)
        case .changeShare: return await person.rename(shareName, "renamed", in: place)
        case .leave: return await person.delete(shareName, in: place)
        case .joinAgain: return await person.accept(url)
        }
    }

    private func outcome(_ action: SmallAction, _ position: SmallPosition) async -> Outcome {
        let name = Self.name(action, position)
        switch action {
        case .read: return await person.read(name, in: place)
        case .change: return await person.change(name, to: 1, in: place)
        case .createBelow: return await person.create("below-\(position)", under: name, in: place)
        case .delete: return await person.delete(name, in: place)
        case .moveIn: return await person.move(name, under: "root", in: place)
        case .moveOut: return await person.move(name, under: nil, in: place)
        }
    }

    // MARK: The host's view

    /// The host gets for every record what the person is about to find out. Children are another matter (R-08).
    private func checkExplanations(_ oracle: SmallOracle) throws {
        for case .record(let action, let position) in SmallTry.all {
            let name = Self.name(action, position)
            let told = try store.explainAccess(
                to: owner.recordID(name, in: place), of: owner.account, inContainer: Town.containerName,
                for: person.account)
            let isCovered = oracle.sees && oracle.covers(position)
            let isWritable = isCovered && oracle.writes
            let isForeignRoot = position == .root && world.kind == .hierarchical && world.role != .owner
            let wanted = [isCovered, isWritable, isWritable && !isForeignRoot, isWritable]
            let found = [told.mayRead, told.mayChange, told.mayDelete, told.mayCreateBelow]
            let recordID = owner.recordID(name, in: place)
            let permissions = try store.permissions(
                for: [recordID], of: owner.account, inContainer: Town.containerName, account: person.account)
            let wantedPermissions: Stratus.RecordPermissions = isWritable ? [.read, .change] : isCovered ? .read : []
            guard permissions == [recordID: wantedPermissions] else {
                throw TownError(
                    description: "\(world): \(name) may be \(permissions), and not \(wantedPermissions)")
            }
            guard told.exists, found == wanted else {
                throw TownError(
                    description: "\(world): \(name) is explained as \(found), and not \(wanted): \(told)")
            }
        }
    }

    // MARK: The result

    /// The owner reads every record: refused acts have changed nothing.
    private func checkEffects(_ oracle: SmallOracle) async throws {
        var wanted: [String: (value: Int, parent: String?)?] = [:]
        for case .record(let action, let position) in SmallTry.all {
            let isDone = oracle.hasEffect(action, position)
            let name = Self.name(action, position)
            let parent: String? =
                switch position {
                case .root, .sibling: "top"
                case .child: "root"
                case .grandchild, .movedIn: Self.name(action, .child)
                case .outside, .movedOut: nil
                }
            switch action {
            case .read: if position != .root { wanted[name] = (0, parent) }
            case .change: wanted[name] = (isDone ? 1 : 0, parent)
            case .createBelow: wanted["below-\(position)"] = isDone ? (0, name) : .some(nil)
            case .delete: if position != .root { wanted[name] = isDone ? .some(nil) : (0, parent) }
            case .moveIn: wanted[name] = (0, isDone ? "root" : parent)
            case .moveOut: wanted[name] = (0, isDone ? nil : parent)
            }
        }
        wanted["rootless"] = oracle.outcome(.createRootless) == .done ? (0, nil) : .some(nil)
        let answers = try await owner.database(place).records(for: wanted.keys.map { owner.recordID($0, in: place) })
        for (name, wanted) in wanted.sorted(by: { $0.key < $1.key }) {
            let found = try? answers[owner.recordID(name, in: place)]?.get()
            let state = found.map {
                "\($0[Person.valueKey] as? Int ?? -1) under \($0.parent?.recordID.recordName ?? "-")"
            }
            let wantedState = wanted.map { "\($0.value) under \($0.parent ?? "-")" }
            guard state == wantedState else {
                throw TownError(
                    description: "\(world): \(name) is \(state ?? "gone") and not \(wantedState ?? "gone")")
            }
        }
    }
}
