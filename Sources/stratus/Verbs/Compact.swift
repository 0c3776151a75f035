// stratus compact: the room of what was deleted is given back.

import ArgumentParser
import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

struct Compact: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Rewrites the store's files without what was deleted.",
        discussion: """
            Interrupted it stops within a second or so: what is compacted stays, and the same again goes on. A host that \
            has the store does it, and stops likewise.

            --json: {"bytesBefore","bytesAfter","milliseconds"}; the sizes are LevelDB's estimates.

            Example: stratus compact --store ./store
            """)

    @OptionGroup var store: WholeStoreArguments

    func run() throws {
        StopSignal.stopAtSafePoints()
        try StoreSession.with(store, .existing) { session, console in
            let ((before, after), cost) = try StepCost.measuring(session) { try compact(session, console) }
            try console.line(
                "files: about \(Quantities.bytes(before)) before, \(Quantities.bytes(after)) after "
                    + "(\(Quantities.duration(cost.duration)))")
            try console.object([
                "bytesBefore": JSONValue(before), "bytesAfter": JSONValue(after),
                "milliseconds": Quantities.milliseconds(cost.duration),
            ])
        }
    }

    private func compact(_ session: StoreSession, _ console: Console) throws -> (before: Int, after: Int) {
        let progress = ProgressLine("compacting", total: nil, unit: .bytes, on: console)
        defer { progress.finish() }
        return try session.compact { progress.update($0, of: $1) }
    }
}

// stratus migrate: a store is brought to the format of this software, and its indexes to what their schemas want.

struct Migrate: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Brings a store to the format of this software, and finishes its indexes.",
        discussion: """
            Formats are numbered from 1 to \(StoreFormat.number). Verbs that only read read every one of them. Verbs that \
            write refuse an older one, with exit code 4, until it is migrated; a host migrates its store when it opens it. \
            Older software cannot open a migrated store: make a backup first. A store of a newer format is refused, with \
            exit code 4, and nothing is changed. Indexes of stores from before there were any are filled, too; interrupted, \
            the next run or host goes on with that.

            --json: {"format","migratedFrom","indexesFinished","commits"}; migratedFrom is null where nothing was migrated

            Example: stratus migrate --store ./store
            """)

    @OptionGroup var store: WholeStoreArguments

    func run() throws {
        let found = try StoreFiles.format(of: store.store)
        try StoreSession.with(store, .migrating) { session, console in
            StopSignal.stopAtSafePoints()
            let (_, cost) = try StepCost.measuring(session) { try session.finishIndexes(console) }
            let isDone = cost.commits == 0
            let old = found.flatMap { $0 < StoreFormat.number ? $0 : nil }
            try console.line(
                (old.map { "migrated from format \($0) to \(StoreFormat.number); " }
                    ?? "format \(StoreFormat.number), which is this software's; ")
                    + (isDone ? "there was nothing to do" : "finished indexes: \(cost.summary)"))
            try console.object([
                "format": JSONValue(Int(StoreFormat.number)), "migratedFrom": old.map { JSONValue($0) } ?? .null,
                "indexesFinished": .boolean(!isDone),
                "commits": JSONValue(cost.commits),
            ])
        }
    }
}
