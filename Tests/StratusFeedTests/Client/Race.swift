// Two people who write in one shared zone, and three who read its pages, all at the same time. Writers announce what
// they may show before the request, and what they have hidden after the answer. So it is known of every page what it
// may contain, though not which moment it shows.

import Foundation
import StratusKit
import StratusSharingSupport

/// A zone whose tree is shared with two people, and the racing people.
struct Race {
    /// Of each writer.
    static let actCount = 40
    static let readerCount = 3
    private static let shareName = "Share"
    private static let goneName = "gone"

    let tree: TreeTown
    let seed: UInt64
    let pace = RacePace(writers: 2, readers: Race.readerCount)
    let ownersTimes = SeenTimes()
    /// The people with whom the tree is shared.
    let othersTimes = SeenTimes()

    init(seed: UInt64, in directory: URL?) async throws {
        self.seed = seed
        tree = try await TreeTown(in: directory)
        try await tree.share("top", with: tree.ann, as: Self.shareName)
        let (owner, place) = (tree.owner, tree.place)
        var outcomes = [await owner.invite(tree.ben, to: Self.shareName, in: place)]
        guard let url = try await owner.shareRecord(Self.shareName, in: place).url else {
            throw TownError(description: "a saved share has no URL")
        }
        outcomes.append(await tree.ben.accept(url))
        outcomes.append(await owner.create(Self.goneName, under: "top", in: place))
        outcomes.append(await owner.delete(Self.goneName, in: place))
        guard outcomes.allSatisfy(\.isDone) else { throw TownError(description: "nobody can race: \(outcomes)") }
        let names = Set(TreeTown.names).union([Self.shareName, Self.goneName])
        ownersTimes.mayShow(names)
        othersTimes.mayShow(names.subtracting(["lone"]))
        for times in [ownersTimes, othersTimes] { times.haveHidden([Self.goneName]) }
    }

    /// Lets everyone write and read until all is written, and returns what each reader received.
    func run() async throws -> [RaceReading] {
        try await withThrowingTaskGroup(of: RaceReading?.self) { group in
            group.addTask {
                try await write { try await writeAsOwner() }
                return nil
            }
            group.addTask {
                try await write { try await writeAsAnn() }
                return nil
            }
            for (person, limit) in [(tree.owner, 1), (tree.ann, 2), (tree.ben, 1)] {
                group.addTask { try await read(as: person, limit: limit) }
            }
            var readings: [RaceReading] = []
            for try await reading in group {
                if let reading { readings.append(reading) }
            }
            return readings
        }
    }

    /// Waiting threads continue, however this one ends.
    private func write(_ body: () async throws -> Void) async throws {
        do { try await body() } catch {
            await pace.noteEndOfWriter()
            throw error
        }
        await pace.noteEndOfWriter()
    }

    private func read(as person: Person, limit: Int) async throws -> RaceReading {
        do {
            let reading = try await readToEnd(as: person, limit: limit)
            await pace.noteEndOfReader()
            return reading
        } catch {
            await pace.noteEndOfReader()
            throw error
        }
    }

    private func readToEnd(as person: Person, limit: Int) async throws -> RaceReading {
        let isOwner = person.owns(tree.place)
        var replica = PagedReplica(person: person, place: tree.place, times: isOwner ? ownersTimes : othersTimes)
        var resumptionCount = 0
        while await pace.areWritersAtWork {
            try await replica.readPage(limit: limit)
            let actCount = await pace.notePage()
            let isFollowed = await pace.waitForAct(after: actCount)
            if isFollowed, replica.isMoreComing { resumptionCount += 1 }
        }
        repeat { try await replica.readPage(limit: 3) } while replica.isMoreComing
        return RaceReading(
            person: person.name, pages: replica.pages, there: try await tags(for: person), times: replica.times,
            neverSeen: isOwner ? "nowhere" : "lone", gone: Self.goneName, resumptionCount: resumptionCount)
    }

    /// What a person can fetch.
    private func tags(for person: Person) async throws -> [String: String] {
        let names =
            TreeTown.names + Self.movingNames + Self.hiddenNames + Self.annsNames + [Self.shareName, Self.goneName]
        let answers = try await person.database(tree.place).records(
            for: names.map { person.recordID($0, in: tree.place) })
        var tags: [String: String] = [:]
        for (id, result) in answers { tags[id.recordName] = try? result.get().recordChangeTag }
        return tags
    }
}

/// A reader's token, and the pages until then.
private struct PagedReplica {
    let person: Person
    let place: Place
    let times: SeenTimes
    private(set) var pages: [RacePage] = []
    private var token: CKServerChangeToken?

    init(person: Person, place: Place, times: SeenTimes) {
        self.person = person
        self.place = place
        self.times = times
    }

    var isMoreComing: Bool { pages.last?.isMoreComing ?? false }

    mutating func readPage(limit: Int) async throws {
        let begin = times.now
        let page = try await person.pull(place, since: token, limit: limit)
        guard page.records.count + page.deleted.count <= limit else {
            throw RaceFailure(description: "a page of \(limit) tells \(page.names) and deletes \(page.deleted.keys)")
        }
        token = page.token
        pages.append(
            RacePage(
                begin: begin, end: times.now, shown: page.records.mapValues { $0.recordChangeTag ?? "" },
                deleted: Set(page.deleted.keys), isMoreComing: page.isMoreComing))
    }
}
