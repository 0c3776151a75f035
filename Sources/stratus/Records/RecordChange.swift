// Changes of one record's place, and the deletion of whole subtrees.

import StratusModel
import StratusRecords

enum RecordChange {
    /// How many records a deletion takes into one commit.
    static let deletionCommitRecordCount = 400
    /// How many records a deletion looks up at once: each look passes over what was deleted before.
    private static let deletionRoundRecordCount = 20_000

    /// Puts a record under another one, or under none. Returns the parent it had.
    ///
    /// Throws `RequestRefused`, with nothing changed, for a cycle or a second share, and `unknownRecord`.
    static func move(
        _ name: RecordName, under parent: RecordName?, in zone: ZoneID, _ session: StoreSession
    ) throws -> RecordName? {
        try change(name, in: zone, session) { $0.parent = parent }.parent
    }

    /// Reads a record, changes it and writes it, as one transaction. Returns the record as it was.
    private static func change(
        _ name: RecordName, in zone: ZoneID, _ session: StoreSession, _ edit: (inout Record) -> Void
    ) throws -> Record {
        let empty = session.request([], in: zone)
        return try session.engine.transact { transaction in
            guard let old = try transaction.existingZone(zone).record(name)?.record else {
                throw RecordsError(
                    .unknownRecord, "No such record: check its name and its zone.",
                    ["record": name.text, "zone": zone.name.text])
            }
            var new = old
            edit(&new)
            var request = empty
            request.mutations = old == new ? [] : [.save(new)]
            try session.apply(request, in: zone, transaction)
            return old
        }
    }

    /// Deletes a record and everything below it, leaves first, so that no commit leaves a record without its parent and
    /// a deletion that was interrupted is taken up by the next. Returns how many records were deleted.
    ///
    /// `progress` is called with the number of records deleted so far. Memory holds one round's names.
    ///
    /// Throws `interrupted` between two commits where the verb was asked to stop.
    static func deleteSubtree(
        _ root: RecordName, in zone: ZoneID, _ session: StoreSession, delete: (([RecordName]) throws -> Void)? = nil,
        progress: (Int) -> Void = { _ in }
    ) throws -> Int {
        let delete = delete ?? { try session.delete($0, in: zone) }
        var deleted = 0
        while true {
            let names = try session.read(zone) { try leaves(below: root, $0) }
            if names.isEmpty { return deleted }
            for start in stride(from: 0, to: names.count, by: deletionCommitRecordCount) {
                let commit = names[start..<min(start + deletionCommitRecordCount, names.count)]
                try delete(Array(commit))
                deleted += commit.count
                progress(deleted)
                try Interruption.safePoint()
            }
        }
    }

    /// Records below `root`, and `root` itself, each after everything below it; as many as one round takes.
    private static func leaves(below root: RecordName, _ zone: ZoneReader) throws -> [RecordName] {
        guard try zone.node(root) != nil else { return [] }
        var path: [RecordName] = [root]
        var leaves: [RecordName] = []
        try zone.visitSubtree(below: root) { child, level in
            // What the walk has left behind has had everything below it visited.
            while path.count > level, let done = path.popLast() { leaves.append(done) }
            path.append(child.name)
            return leaves.count >= deletionRoundRecordCount ? .stop : .next
        }
        if leaves.count < deletionRoundRecordCount {
            while let done = path.popLast() { leaves.append(done) }
        }
        return leaves
    }
}
