// stratus stats: shows what a store holds and how much room it takes.

import ArgumentParser
import StratusKit
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

struct Stats: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows what a store holds and how much room it takes.",
        discussion: """
            Sizes are LevelDB's estimates and include only files. A store on PostgreSQL has one table for all zones: \
            the sizes of zones are null, and those of tables are shown, with the rows that the server estimates, and \
            the age of the oldest transaction in its database. A role without pg_read_all_stats sees no other role's \
            transactions; hiddenConnections counts these connections. --count counts the entries of every keyspace, \
            which reads the whole store. If a zone cannot be read, the output may end early; with --json, in the middle of \
            the line.

            If a host serves the store and refuses writes after a failed write, the verb shows the cause; 'stratus \
            recover' makes the host open the store again. takesWrites is null if no host was asked.

            --json: {"path","takesWrites","writeFailure":{"code","message","fields","cause"} or null,"filesByLevel","memoryBytes","server":{"tables":[{"table","rows","bytes","indexBytes"}],"oldestTransactionSeconds",\
            "hiddenConnections"} or null,"zones":[{"container","owner","scope","zone","records",\
            "sequence","horizon","bytes","keyspaces":[{"keyspace","bytes","entries"}]}]}; entries is null without --count.

            Example: stratus stats --count --store ./store
            """)

    @Flag(help: "Count the entries of every keyspace.")
    var count = false

    @OptionGroup var store: WholeStoreArguments

    func run() throws {
        // Ask before opening the store: its host may have closed it and may be waiting to open it again.
        let (takesWrites, failure) = Self.writeState(of: StoreAddress(parsing: store.store))
        try StoreSession.with(store, .reading) { session, console in
            let figures = try session.isOnServer ? nil : session.files.figures()
            try console.line("store \(VisibleText.of(session.path))")
            if let failure {
                let text = "refuses writes because one has failed: fix the cause, then run 'stratus recover'"
                try console.line(console.styled(text, .red))
                try console.line("  \(VisibleText.of(failure.description))")
            }
            if let figures {
                try console.line(
                    "tables by level: \(figures.filesByLevel.map(String.init).joined(separator: " ")), "
                        + "\(Quantities.bytes(figures.memoryByteCount)) in memory")
            }
            let server = try session.serverFigures
            if let server { try show(server, console) }
            let counter = count ? try EntryCounter(session, console) : nil
            let store: JSONObject = [
                "path": session.path, "takesWrites": takesWrites, "writeFailure": failure?.object,
                "filesByLevel": figures?.filesByLevel, "memoryBytes": figures?.memoryByteCount,
                "server": server?.object,
            ]
            try console.object(store, list: "zones") { add in
                try session.engine.read(.wholeStore) { reader in
                    // With --count, the entry counter shows the progress.
                    let zoneCount = try count ? nil : reader.placeAndRecordCount().zones
                    let zones = zoneCount.map { ProgressLine("measuring zones", total: $0, on: console) }
                    try reader.visitZones { id, _ in
                        if let zone = try reader.zone(id) { try add(object(of: zone, session, counter, console)) }
                        zones?.add()
                        return .next
                    }
                }
            }
        }
    }

    /// Asks the store's host whether it takes writes. Nil if there is no host, or if it does not answer.
    private static func writeState(of address: StoreAddress) -> (takesWrites: Bool?, failure: StratusError?) {
        guard case .directory(let path) = address else { return (nil, nil) }
        do {
            let (isServed, failure) = try ServedStore.writeFailure(ofStoreAt: path)
            return (isServed ? failure == nil : nil, failure)
        } catch {
            let reason = ErrorReport(error).message
            Console.note("note: could not ask the store's host whether it takes writes: \(VisibleText.of(reason))")
            return (nil, nil)
        }
    }

    private func show(_ server: StoreServer.Figures, _ console: Console) throws {
        var table = Table(titles: ["table", "rows", "bytes", "bytes of indexes"])
        table.rows = server.tables.map {
            [
                $0.name, $0.rowCount.map { Quantities.count($0) } ?? "?", Quantities.bytes($0.byteCount),
                Quantities.bytes($0.indexByteCount),
            ]
        }
        for line in table.lines { try console.line("  " + line) }
        let oldest = server.oldestTransactionSeconds.map { Quantities.duration(.seconds($0)) } ?? "none"
        let hidden = Quantities.count(server.hiddenConnectionCount, "connection")
        try console.line(
            "oldest transaction: \(oldest)"
                + (server.hiddenConnectionCount > 0 ? "; \(hidden) of other roles cannot be seen" : ""))
    }

    private func object(
        of zone: ZoneReader, _ session: StoreSession, _ counter: EntryCounter?, _ console: Console
    ) throws -> JSONObject {
        let header = try zone.header()
        let database = zone.id.database
        let files = try session.isOnServer ? nil : session.files
        let byteCount = try files?.approximateByteCount(of: zone.keys.all)
        var table = Table(titles: ["keyspace", "entries", "bytes of files"])
        var keyspaces: [JSONObject] = []
        // A server has one table for all keyspaces.
        let byteCounts = try ZoneKeyspace.allCases.map {
            try files?.approximateByteCount(of: zone.keys.keyspace($0)) ?? 0
        }
        let entryCounts = try counter?.entryCounts(
            of: zone, recordCount: header.recordCount, byteCounts: byteCounts)
        for (index, keyspace) in ZoneKeyspace.allCases.enumerated() {
            let (bytes, entries) = (byteCounts[index], entryCounts?[index])
            if bytes > 0 || (entries ?? 0) > 0 {
                let size = files == nil ? "?" : Quantities.bytes(bytes)
                table.rows.append(["\(keyspace)", entries.map { Quantities.count($0) } ?? "?", size])
            }
            let size = files == nil ? nil : bytes
            keyspaces.append(["keyspace": "\(keyspace)", "bytes": size, "entries": entries])
        }
        let place = [database.container.text, database.owner?.text ?? "public", zone.id.name.text]
        try console.line()
        try console.line(console.styled("zone " + place.map { VisibleText.of($0) }.joined(separator: " / "), .bold))
        try console.line(
            "\(Quantities.count(header.recordCount, "record")), sequence \(Quantities.count(header.sequence)), "
                + "horizon \(Quantities.count(header.horizon))"
                + (byteCount.map { ", \(Quantities.bytes($0)) of files" } ?? ""))
        for line in table.lines { try console.line("  " + line) }
        return [
            "container": database.container.text, "owner": database.owner?.text, "scope": "\(database.scope)",
            "zone": zone.id.name.text, "records": header.recordCount, "sequence": header.sequence,
            "horizon": header.horizon, "bytes": byteCount, "keyspaces": keyspaces,
        ]
    }
}

extension StoreServer.Figures {
    fileprivate var object: JSONObject {
        let tables: [JSONObject] = tables.map {
            ["table": $0.name, "rows": $0.rowCount, "bytes": $0.byteCount, "indexBytes": $0.indexByteCount]
        }
        return [
            "tables": tables, "oldestTransactionSeconds": oldestTransactionSeconds,
            "hiddenConnections": hiddenConnectionCount,
        ]
    }
}

extension StratusError {
    fileprivate var object: JSONObject {
        ["code": code.description, "message": message, "fields": JSONObject(sorted: fields), "cause": cause]
    }
}

/// Counts the entries of keyspaces and shows the progress: zone by zone, and within a zone by the bytes of its
/// keyspaces.
private final class EntryCounter {
    /// The number of entries between two updates inside a large keyspace.
    private static let updateEntryCount = 1 << 16

    private let files: StoreFiles?
    private let meter: ZoneMeter

    init(_ session: StoreSession, _ console: Console) throws {
        files = try session.isOnServer ? nil : session.files
        let (_, zones, records) = try session.placeAndRecordCount
        let progress = ProgressLine("counting entries of zones and records", total: zones + records, on: console)
        meter = ZoneMeter(WorkMeter(total: zones + records) { progress.update($0, of: $1) })
    }

    /// Counts the entries of a zone's keyspaces. `byteCounts` are their approximate sizes.
    func entryCounts(of zone: ZoneReader, recordCount: UInt64, byteCounts: [Int]) throws -> [Int] {
        let weights = files == nil ? byteCounts.map { _ in 1 } : byteCounts
        meter.begin(recordCount: Int(summable: recordCount), weights: weights)
        defer { meter.end() }
        return try ZoneKeyspace.allCases.enumerated().map { step, keyspace in
            let range = zone.keys.keyspace(keyspace)
            var count = 0
            try zone.store.scan(range) { key, _ in
                count += 1
                if let files, count.isMultiple(of: Self.updateEntryCount) {
                    let behind = KeyRange(from: range.lower, upTo: [UInt8](copying: key))
                    meter.update(step: step, try files.approximateByteCount(of: behind), of: byteCounts[step])
                }
                return .next
            }
            return count
        }
    }
}
