// stratus report: writes one page about a whole store, or about what one person sees of it.

import ArgumentParser
import Foundation

struct Report: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Writes an HTML page about a store: its contents, its shares, its changes.",
        discussion: """
            The page shows zones and their sizes, record types, depth and width of hierarchies, shares with their \
            participants and permissions, changes over time, LevelDB's levels and files, and asset contents by owner. \
            With --verify it also shows what 'stratus verify' finds, with its exit code. The page is one file without \
            scripts or network requests. It supports light and dark mode, the keyboard and screen readers. It may \
            contain anything in the store: it is for the host only, and the file is readable only for its owner. The \
            verb reads everything once; its memory use does not grow with the store.

            With --as the page shows only what the person sees: their zones and the zones shared with them, with the \
            records, hierarchy, sizes, and shares with the people that the person may see.

            --json: {"file","records","zones","shares","contents","contentBytes","verified","clean"}; clean is null \
            without --verify; with --as {"file","as","records","zones","shares"}.

            Example: stratus report --output report.html --store ./store
            Example: stratus report --as bob@example.com --output bob.html --store ./store
            """)

    @Flag(help: "Verify the store, and include the result. This reads everything a second time.")
    var verify = false

    @OptionGroup var secret: URLArguments
    @OptionGroup var target: OutputArguments
    @OptionGroup var store: WholeStoreArguments
    @Option(
        name: .customLong("as"),
        help: ArgumentHelp("Show what this person sees; without it, everything.", valueName: "person"))
    var person: PersonArgument?

    func validate() throws {
        if verify, person != nil { throw ValidationError("Use --verify without --as: it checks the whole store.") }
        guard store.json, target.output == nil else { return }
        throw ValidationError("--json needs --output, because the page is not JSON.")
    }

    func run() throws {
        try target.check()
        let console = Console(usesJSON: store.json)
        let opening: StoreSession.Opening =
            person != nil ? .readingAsClient : verify ? .readingAssets : .reading
        let report = try StoreSession.with(store, opening) { session in
            let verification = try verify ? Verification(of: session, console) : nil
            // A report about a store with damaged bytes could be wrong.
            if let damage = verification?.damages.first { throw damage }
            let progress = ProgressLine("reading", on: console)
            var reader = ReportReader(session, secret, now: Date()) { progress.update($0, $1, of: $2) }
            if let person { return try reader.read(seenBy: session.person(person), called: person.text) }
            var report = try reader.read()
            report.verification = verification
            return report
        }
        try write(report, console)
        try console.flush()
        if let exit = report.verification?.exit { throw ExitCode(exit.rawValue) }
    }

    private func write(_ report: StoreReport, _ console: Console) throws {
        guard let file = try target.write(ReportPage.text(of: report), console) else { return }
        try console.line(
            "reported \(Quantities.count(report.recordCount, "record")), "
                + "\(Quantities.count(report.zoneCount, "zone")), \(Quantities.count(report.shareCount, "share")) to "
                + VisibleText.of(file))
        if let person {
            return try console.object([
                "file": file, "as": person.text, "records": report.recordCount, "zones": report.zoneCount,
                "shares": report.shareCount,
            ])
        }
        try console.object([
            "file": file, "records": report.recordCount, "zones": report.zoneCount, "shares": report.shareCount,
            "contents": report.contentCount, "contentBytes": report.contentByteCount,
            "verified": report.verification != nil, "clean": report.verification?.isClean,
        ])
    }
}
