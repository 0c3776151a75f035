// The acts of the two writers. Each has names that no one else touches, so that it knows what is visible of them; both
// change one record in the shared tree.

import StratusKit
import StratusSharingSupport
import StratusTestSupport

extension Race {
    /// What the owner moves into the shared tree, out of it, and under one another.
    static let movingNames = (0..<6).map { "m\($0)" }
    /// What the owner changes and only the owner ever sees.
    static let hiddenNames = (0..<3).map { "x\($0)" }
    /// The first participant's creations, moves and deletions in the shared tree.
    static let annsNames = (0..<4).map { "a\($0)" }

    func writeAsOwner() async throws {
        var random = SplitMix64(seed: seed)
        var moved = MovedRecords()
        for step in 0..<Self.actCount {
            await pace.waitForPages(step)
            let name = random.element(of: Self.movingNames)
            var next = moved
            // A parent may be missing, or be below; a record may have others below it.
            var allowed: Answers = [.done, .refused(.referenceViolation)]
            let outcome: Outcome
            switch random.below(8) {
            case 0:
                next.parents[name] = nil
                outcome = await tree.owner.delete(name, in: tree.place)
            case 1:
                let hidden = random.element(of: Self.hiddenNames)
                ownersTimes.mayShow([hidden])
                allowed = .done
                outcome = await tree.owner.change(hidden, to: step, in: tree.place)
            case 2:
                allowed = [.done, .refused(.serverRecordChanged)]
                outcome = await tree.owner.change(RaceLie.changedName, to: step, in: tree.place)
            default:
                let parents = random.isOne(in: 4) ? Self.movingNames : ["top", "left", "lone", "leaf"]
                let parent = random.element(of: parents)
                next.parents[name] = parent
                ownersTimes.mayShow([name])
                othersTimes.mayShow(next.seen)
                outcome = await tree.owner.move(name, under: parent, in: tree.place)
            }
            guard allowed.contains(outcome) else { throw wrong("the owner's act \(step) is \(outcome)") }
            if outcome.isDone { moved = next }
            ownersTimes.haveHidden(Set(Self.movingNames).subtracting(moved.parents.keys))
            othersTimes.haveHidden(Set(Self.movingNames).subtracting(moved.seen))
            await pace.noteAct()
        }
    }

    func writeAsAnn() async throws {
        var random = SplitMix64(seed: seed &+ 1_000)
        for step in 0..<Self.actCount {
            await pace.waitForPages(step)
            var name = random.element(of: Self.annsNames)
            var choice = random.below(6)
            // In the end a record is created and deleted, so that there is a deletion to report.
            if step >= Self.actCount - 2 { (name, choice) = (Self.annsNames[0], step == Self.actCount - 2 ? 5 : 0) }
            var allowed: Answers = .done
            let outcome: Outcome
            switch choice {
            case 0:
                // It may not be there.
                outcome = await tree.ann.delete(name, in: tree.place)
                for times in [ownersTimes, othersTimes] { times.haveHidden([name]) }
            case 1, 2:
                allowed = [.done, .refused(.serverRecordChanged)]
                outcome = await tree.ann.change(RaceLie.changedName, to: step, in: tree.place)
            default:
                for times in [ownersTimes, othersTimes] { times.mayShow([name]) }
                let parent = random.element(of: ["top", "left", "right"])
                outcome = await tree.ann.move(name, under: parent, in: tree.place)
            }
            guard allowed.contains(outcome) else { throw wrong("the participant's act \(step) is \(outcome)") }
            await pace.noteAct()
        }
    }

    private func wrong(_ message: String) -> RaceFailure { RaceFailure(description: "seed \(seed): \(message)") }
}

/// The places of the records that only one writer moves.
private struct MovedRecords {
    private static let treeNames: Set<String> = ["top", "left", "right", "leaf"]

    /// By name, of those that there are.
    var parents: [String: String] = [:]

    /// Those in the shared tree.
    var seen: Set<String> { Set(parents.keys.filter { isInTree($0) }) }

    private func isInTree(_ name: String) -> Bool {
        var place = name
        // Where the way up is longer it leads round and round.
        for _ in 0...parents.count {
            if Self.treeNames.contains(place) { return true }
            guard let parent = parents[place] else { return false }
            place = parent
        }
        return false
    }
}
