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
            --json: {"bytesBefore","bytesAfter","milliseconds"}; the sizes are LevelDB's estimates.

            Example: stratus compact --store ./store
            """)

    @OptionGroup var whole: WholeStoreArguments

    private var store: StoreArguments { whole.arguments }

    func run() throws {
        let console = Console(usesJSON: store.json)
        try StoreSession.with(store, .existing) { session in
            let ((before, after), cost) = try StepCost.measuring(session) { try session.compact() }
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
}
