// stratus compact and stratus migrate: two kinds of upkeep of a whole store.

import ArgumentParser
import StratusRecords

struct Compact: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Rewrites the store's files without deleted data.",
        discussion: """
            You can interrupt it: it stops within about a second and keeps what is compacted; run it again to \
            continue. If a host has the store open and serves it, the host compacts it.

            --json: {"bytesBefore","bytesAfter","milliseconds"}; the sizes are LevelDB's estimates.

            Example: stratus compact --store ./store
            """)

    @OptionGroup var store: WholeStoreArguments

    func run() throws {
        StopSignal.stopAtSafePoints()
        _ = try StoreAddress.directory(
            of: store.store, instead: "PostgreSQL frees room by itself (autovacuum); see its VACUUM for the rest.")
        try StoreSession.with(store, .existing) { session, console in
            let progress = ProgressLine("compacting", unit: .bytes, on: console)
            let ((before, after), cost) = try StepCost.measuring(session) {
                try session.compact { progress.update($0, of: $1) }
            }
            try console.line(
                "files: about \(Quantities.bytes(before)) before, \(Quantities.bytes(after)) after "
                    + "(\(Quantities.duration(cost.duration)))")
            try console.object([
                "bytesBefore": before, "bytesAfter": after, "milliseconds": Quantities.milliseconds(cost.duration),
            ])
        }
    }
}

struct Migrate: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Migrates a store to the format of this version, and finishes its indexes.",
        discussion: """
            Formats are numbered from 1 to \(StoreFormat.number). Reading verbs read all of them. Writing verbs refuse \
            an older format with exit code 4 until you migrate the store; a host migrates its store when it opens it. \
            Older versions cannot open a migrated store: make a backup first. A store of a newer format is refused \
            with exit code 4 and not changed. The verb also fills indexes that an older store does not have; if that \
            is interrupted, the next run or host continues.

            --json: {"format","migratedFrom","indexesFinished","commits"}; migratedFrom is null if nothing was migrated

            Example: stratus migrate --store ./store
            """)

    @OptionGroup var store: WholeStoreArguments

    func run() throws {
        let found =
            switch StoreAddress(parsing: store.store) {
            case .directory(let path): try StoreFiles.format(of: path)
            case .server(let url): try StoreServer.format(of: url)
            }
        try StoreSession.with(store, .migrating) { session, console in
            StopSignal.stopAtSafePoints()
            let (_, cost) = try StepCost.measuring(session) { try session.finishIndexes(console) }
            let isDone = cost.commits == 0
            let old = found.flatMap { $0 < StoreFormat.number ? $0 : nil }
            try console.line(
                (old.map { "migrated from format \($0) to \(StoreFormat.number); " }
                    ?? "format \(StoreFormat.number) is current; ")
                    + (isDone ? "there was nothing to do" : "finished indexes: \(cost.summary)"))
            try console.object([
                "format": Int(StoreFormat.number), "migratedFrom": old, "indexesFinished": !isDone,
                "commits": cost.commits,
            ])
        }
    }
}
