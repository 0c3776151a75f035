// stratus report: one page about a whole store, or about what one person sees of it.

import ArgumentParser
import Foundation

struct Report: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Writes one page of HTML about a store: what is in it, who shares what with whom, how it changes.",
        discussion: """
            Zones and their sizes, types, depth and width of hierarchies, shares with those who take part and what they \
            may do, changes over time, LevelDB's levels and files, contents of assets by owner; with --verify what 'stratus verify' finds, and its exit \
            code. The page is one file that asks nothing of any network and runs no script; it can be read in the light \
            and in the dark, with the keyboard, and by screen readers. Everybody and everything in the store may stand in \
            it: it is for the host alone to see, and made for its owner alone to read. Everything is read once, and memory \
            does not grow with the store.

            With --as the page tells what the person sees and nothing else: their zones and those that others share with \
            them, the records in these, their hierarchy and sizes, shares with the people that the person may know of. \
            What is the host's alone is left out.

            --json: {"file","records","zones","shares","contents","contentBytes","verified","clean"}; clean is null without \
            --verify; with --as {"file","as","records","zones","shares"}.

            Example: stratus report --output report.html --store ./store
            Example: stratus report --as bob@example.com --output bob.html --store ./store
            """)

    @Flag(help: "Check every byte and every index, and tell of it. This reads everything a second time.")
    var verify = false

    @OptionGroup var secret: URLArguments
    @OptionGroup var target: OutputArguments
    @OptionGroup var store: WholeStoreArguments
    @Option(
        name: .customLong("as"),
        help: ArgumentHelp("Tell what this person sees; else everything, for the host.", valueName: "person"))
    var person: PersonArgument?

    func validate() throws {
        if verify, person != nil { throw ValidationError("--verify goes without --as: it is of the whole store.") }
        guard store.json, target.output == nil else { return }
        throw ValidationError("--json goes with --output: a page is no JSON.")
    }

    func run() throws {
        try target.check()
        let console = Console(usesJSON: store.json)
        let report = try StoreSession.with(store, opening) { session in
            let verification = try verify ? self.verification(of: session, console) : nil
            let progress = ProgressLine("reading", total: nil, on: console)
            defer { progress.finish() }
            var reader = ReportReader(session, secret, now: Date()) { progress.update($0, $1, of: $2) }
            if let person { return try reader.read(seenBy: session.person(person), called: person.text) }
            var report = try reader.read()
            report.verification = verification
            return report
        }
        try write(report, console)
        try console.flush()
        guard report.verification?.isClean ?? true else { throw ExitCode(ExitStatus.failure.rawValue) }
    }

    private var opening: StoreSession.Opening {
        person != nil ? .readingAsClient : verify ? .readingAssets : .reading
    }

    /// Throws the first damage where bytes are damaged: what would be told of such a store could be wrong.
    private func verification(of session: StoreSession, _ console: Console) throws -> Verification {
        let progress = ProgressLine("verifying", total: nil, on: console)
        defer { progress.finish() }
        let verification = try Verification(of: session, progress: progress.update)
        if let damage = verification.damages.first { throw damage }
        return verification
    }

    private func write(_ report: StoreReport, _ console: Console) throws {
        let text = ReportPage.text(of: report)
        guard let file = target.output else {
            for line in text.split(separator: "\n") { try console.line(String(line)) }
            return
        }
        try PageFile.write(text, to: file, replacing: target.force)
        try console.line(
            "reported \(Quantities.count(report.recordCount, "record")), "
                + "\(Quantities.count(report.zoneCount, "zone")), \(Quantities.count(report.shareCount, "share")) to "
                + VisibleText.of(file))
        if let person {
            return try console.object([
                "file": .string(file), "as": .string(person.text), "records": JSONValue(report.recordCount),
                "zones": JSONValue(report.zoneCount), "shares": JSONValue(report.shareCount),
            ])
        }
        try console.object([
            "file": .string(file), "records": JSONValue(report.recordCount), "zones": JSONValue(report.zoneCount),
            "shares": JSONValue(report.shareCount), "contents": JSONValue(report.contentCount),
            "contentBytes": JSONValue(report.contentByteCount), "verified": .boolean(report.verification != nil),
            "clean": report.verification.map { .boolean($0.isClean) } ?? .null,
        ])
    }
}
