// stratus migrate: a store is brought to the format of this software, and its indexes to what their schemas want.

import ArgumentParser
import StratusCloud
import StratusRecords

struct Migrate: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Brings a store to the format of this software, and finishes its indexes.",
        discussion: """
            There is one format so far, 1: a store of a newer one is refused, with exit code 4, and nothing is changed. What \
            is left to do is to fill indexes of stores from before there were any; interrupted, the next run or host goes \
            on with it.

            --json: {"format","indexesFinished","commits"}

            Example: stratus migrate --store ./store
            """)

    @OptionGroup var whole: WholeStoreArguments

    private var store: StoreArguments { whole.arguments }

    func run() throws {
        let console = Console(usesJSON: store.json)
        try StoreSession.with(store, .owningAsClient) { session in
            Interruption.stopAtSafePoints()
            let (_, cost) = try StepCost.measuring(session) { try session.finishIndexes(console) }
            let isDone = cost.commits == 0
            try console.line(
                "format \(StoreFormat.number), which is this software's; "
                    + (isDone ? "there was nothing to do" : "finished indexes: \(cost.summary)"))
            try console.object([
                "format": JSONValue(Int(StoreFormat.number)), "indexesFinished": .boolean(!isDone),
                "commits": JSONValue(cost.commits),
            ])
        }
        try console.flush()
    }
}
