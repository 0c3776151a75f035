// stratus compact: the room of what was deleted is given back.

import ArgumentParser
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

    @OptionGroup var whole: WholeStoreArguments

    private var store: StoreArguments { whole.arguments }

    func run() throws {
        let console = Console(usesJSON: store.json)
        Interruption.stopAtSafePoints()
        try StoreSession.with(store, .existing) { session in
            let ((before, after), cost) = try StepCost.measuring(session) { try compact(session, console) }
            try console.line(
                "files: about \(Quantities.bytes(before)) before, \(Quantities.bytes(after)) after "
                    + "(\(Quantities.duration(cost.duration)))")
            try console.object([
                "bytesBefore": JSONValue(before), "bytesAfter": JSONValue(after),
                "milliseconds": Quantities.milliseconds(cost.duration),
            ])
        }
        try console.flush()
    }

    private func compact(_ session: StoreSession, _ console: Console) throws -> (before: Int, after: Int) {
        let progress = Progress("compacting", total: nil, unit: .bytes, on: console)
        defer { progress.finish() }
        return try session.compact { progress.update($0, of: $1) }
    }
}
