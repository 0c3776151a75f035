// stratus repair-losing-damaged-data: what is left of a damaged store, when there is no backup.

import ArgumentParser
import StratusModel
import StratusRecords

struct RepairLosingDamagedData: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "repair-losing-damaged-data",
        abstract: "Makes a new store of what can still be read of a damaged one. The rest is lost.",
        discussion: """
            Restore a backup if there is one: what lies in damaged bytes is left out without being named, and values that \
            were overwritten or deleted may come back. The damaged store is left as it is. The destination must not exist; \
            it appears only when the new store is complete. Change tokens from before expire, and indexes are made anew \
            from the records that are left. The files of assets stay where they are: move the directory 'assets'.

            What contradicts itself afterwards is told as by 'stratus verify', with exit code 1: records whose parents \
            are lost, say, and what owners are counted to hold.

            --json: {"destination","unmended":[{"zone","error"}]}, then the line of 'stratus verify'.

            Example: stratus repair-losing-damaged-data ./salvaged --store ./store
            """,
        aliases: ["repair"])

    @Argument(help: "The directory to make.", completion: .directory)
    var destination: String

    @OptionGroup var whole: WholeStoreArguments

    private var store: StoreArguments { whole.arguments }

    func run() throws {
        let console = Console(usesJSON: store.json)
        try StorePath.requireOutside(destination)
        Leftovers.sweep(besides: destination)
        try Leftovers.finish(at: store.store)
        UnfinishedWork.removeCopiesAtEnd(of: destination, by: StoreFiles.copyRemoval)
        let progress = Progress("repairing", total: nil, on: console)
        defer { progress.finish() }
        let unmended = try StoreFiles.repairLosingDamagedData(of: store.store, to: destination) { part, done, total in
            if let total { progress.update(part, done, of: total) } else { progress.begin(part) }
        }
        for (zone, error) in unmended {
            let text = "not rebuilt: zone \(zone.name.text): \(error)"
            try console.line(VisibleText.of(text))
        }
        try console.object([
            "destination": .string(destination),
            "unmended": .array(
                unmended.map { zone, error in
                    var object: JSONObject = ["zone": .string(zone.name.text)]
                    object.add("error", .object(ErrorReport(error).object))
                    return .object(object)
                }),
        ])
        let session = try StoreSession(at: destination, store.database, .existing)
        defer { session.close() }
        let verification = try Verification(of: session) { progress.update("and verifying \($0)", $1, of: $2, $3) }
        for line in verification.lines() { try console.line(line) }
        try console.object(verification.object)
        try console.flush()
        guard unmended.isEmpty, verification.isClean else { throw ExitCode(ExitStatus.failure.rawValue) }
    }
}
