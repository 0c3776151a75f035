// stratus query: finds records with a predicate, and explains how.

import ArgumentParser
import Foundation
import StratusKit
import StratusModel
import StratusRecords

struct Query: PlaceCommand {
    static let configuration = CommandConfiguration(
        abstract: "Finds the records of a type that match a predicate.",
        discussion: """
            Write the predicate as for NSPredicate(format:), within CloudKit's limits: name BEGINSWITH 'a' AND \
            size > 1000000. --explain shows the plan and its cost instead of the records.

            --json: one line per record, as 'stratus ls' prints it, then {"isMoreComing":true,"limit"} if --limit left \
            some out; with --explain {"zones":[{"zone","plan","resultCount",\
            "examinedCount","readCount","cursorStepCount"}],"resultCount","isMoreComing"}

            Example: stratus query File --where "size > 1000000 AND name BEGINSWITH 'lib'" --sort -size --store ./store
            """)

    @Argument(help: "The record type.")
    var type: String

    @Option(
        name: .customLong("where"),
        help: ArgumentHelp("The predicate; without it, all records match.", valueName: "predicate"))
    var predicate: String?

    @Option(
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "A field to sort by; '-' before its name sorts in descending order; may be repeated.",
            valueName: "field"))
    var sort: [String] = []

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Show at most this many records; 0 for all.", valueName: "count"))
    var limit = 0

    @Flag(help: "Show how the store finds the first page, and the cost.")
    var explain = false

    @OptionGroup var store: StoreArguments
    @OptionGroup var zone: ZoneArguments
    @OptionGroup var acting: ActingArguments

    func validate() throws {
        guard limit >= 0 else { throw ValidationError("--limit must be a number of records, or 0 for all.") }
        guard !sort.contains(where: { $0.isEmpty || $0 == "-" }) else {
            throw ValidationError("--sort must be the name of a field.")
        }
    }

    func run() throws {
        try StoreSession.with(store, .readingAsClient) { session, console in
            let zone = try session.existingZone(zone)
            if explain {
                try show(explanation(in: zone, session), console)
            } else {
                let recordCount = try session.read(zone) { try $0.recordBound() }
                let progress = ProgressLine("looking", on: console)
                let client = try session.client(of: zone, acting)
                let rest = try client.visitResults(
                    of: query, limit: limit, recordCount: recordCount,
                    didFetch: { progress.update($0, ofAtMost: $1) }
                ) { name in
                    try show(name, in: zone, session, console)
                }
                if try client.hasResults(behind: rest) { try console.moreComing("results", limit: limit) }
            }
        }
    }

    private func explanation(in zone: ZoneID, _ session: StoreSession) throws -> Stratus.QueryExplanation {
        let (actor, client) = (try session.actor(acting), try session.client(of: zone, acting))
        do {
            let host = try session.ownHost
            return try host.explainQuery(
                query, inZoneWith: client.zoneID, of: client.database.databaseScope,
                inContainer: zone.database.container.text, as: host.account(id: actor.id.text), resultsLimit: limit)
        } catch let error as StratusError {
            guard error.code == .invalidArgument else { throw error }
            throw ToolError(.usage, error.message, error.fields)
        }
    }

    private var query: CKQuery {
        let query = CKQuery(
            recordType: type,
            predicate: predicate.map { NSPredicate(format: $0, argumentArray: []) } ?? NSPredicate(value: true))
        query.sortDescriptors = sort.map { key in
            key.hasPrefix("-")
                ? NSSortDescriptor(key: String(key.dropFirst()), ascending: false)
                : NSSortDescriptor(key: key, ascending: true)
        }
        return query
    }

    /// Shows a record by its record name. Shows nothing if the record was deleted after the query.
    private func show(_ name: RecordName, in zone: ZoneID, _ session: StoreSession, _ console: Console) throws {
        guard let line = try session.read(zone, { try RecordLine($0.child(name), $0) }) else { return }
        try console.line(line.columns(console) + VisibleText.of(name.text))
        try console.object(line.object)
    }

    private func show(_ explanation: Stratus.QueryExplanation, _ console: Console) throws {
        for line in explanation.description.split(separator: "\n") { try console.line(VisibleText.of(String(line))) }
        try console.object([
            "zones": explanation.zones.map { zone -> JSONObject in
                [
                    "zone": zone.zone, "plan": zone.plan, "resultCount": zone.resultCount,
                    "examinedCount": zone.examinedCount, "readCount": zone.readCount,
                    "cursorStepCount": zone.cursorStepCount,
                ]
            },
            "resultCount": explanation.resultCount, "isMoreComing": explanation.isMoreComing,
        ])
    }
}
