// stratus bench: measures a few everyday requests on this machine and disk.

import ArgumentParser
import Foundation
import StratusKit
import StratusModel

struct Bench: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measures everyday requests on a temporary store.",
        discussion: """
            One client sends one request after another through CloudKit's API. Name a --directory on the disk to \
            measure. 'make bench' compares Stratus with other stores, and runs more clients.

            --json: one line per step: {"step","items","itemsPerSecond","cost":{…}}

            Example: stratus bench --records 20000 --directory /var/tmp
            """)

    @Option(parsing: .unconditional, help: ArgumentHelp("The number of records.", valueName: "count"))
    var records = 10_000

    @Option(
        help: ArgumentHelp(
            "The directory for the store; the temporary directory if you name none.", valueName: "path"),
        completion: .directory)
    var directory: String?

    @Flag(help: "Print JSON: one object per line.")
    var json = false

    func validate() throws {
        guard (1...10_000_000).contains(records) else { throw ValidationError("--records must be 1 to 10000000.") }
    }

    func run() throws {
        let console = Console(usesJSON: json)
        let base = AbsolutePath.of(directory ?? FileManager.default.temporaryDirectory.path)
        StoreFiles.Scratch.sweep(base)
        let scratch = try StoreFiles.Scratch.make(in: base, for: .measuring)
        defer { scratch.remove() }
        let path = scratch.path + "/store"
        let choice = DatabaseChoice(container: "iCloud.bench", owner: PersonArgument("bench"))
        let session = try StopSignal.making { try StoreSession(at: path, choice, .creatingForItself) }
        defer { session.close() }
        let zone = try session.zone("bench")
        try session.createZone(zone)
        try run(session.client(of: zone), session, console)
        try console.flush()
    }

    private func run(_ client: ZoneClient, _ session: StoreSession, _ console: Console) throws {
        /// Measures a request for each of the items, which are `count` records together.
        func step<Item>(_ title: String, _ count: Int, _ items: [Item], _ request: (Item) throws -> Void) throws {
            let progress = ProgressLine(title, total: count, on: console)
            let (_, cost) = try StepCost.measuring(session) {
                for (index, item) in items.enumerated() {
                    progress.update(index * count / items.count)
                    try request(item)
                }
                try client.finish()
            }
            let rate = Double(count) / max(0.000_001, Quantities.seconds(cost.duration))
            try console.line(
                "\(title): \(Quantities.count(Int(rate)))/s  (\(Quantities.count(count)) in "
                    + "\(Quantities.duration(cost.duration)), \(Quantities.count(cost.commits, "commit")))")
            try console.object(["step": title, "items": count, "itemsPerSecond": rate.rounded(), "cost": cost.object])
            try console.flush()
        }
        let names = (0..<records).map { RecordName("record-\($0)") }
        let batches = stride(from: 0, to: records, by: ZoneClient.requestItemCount).map {
            $0..<min($0 + ZoneClient.requestItemCount, records)
        }
        let some = Array(stride(from: 0, to: records, by: max(1, records / 1_000)))
        let tally = SaveTally()
        try step("save, 400 a request", records, batches) { batch in
            let batch = batch.map { number in
                let record = CKRecord(recordType: "Item", recordID: client.recordID(names[number]))
                record["number"] = Int64(number)
                record["title"] = "The title of item \(number)"
                return record
            }
            try client.save(batch, tally)
        }
        try session.finishIndexes(console)
        try step("save, one a request", some.count, some) { number in
            let name = RecordName("\(names[number].text)-more")
            let record = CKRecord(recordType: "Item", recordID: client.recordID(name))
            record["number"] = Int64(-1)
            try client.put(record)
        }
        try step("fetch, one a request", some.count, some) { _ = try client.fetch(names[$0]) }
        try step("query by a number", some.count, some) { number in
            let predicate = NSPredicate(format: "number == \(number)", argumentArray: [])
            let query = CKQuery(recordType: "Item", predicate: predicate)
            try client.visitResults(of: query, limit: 1) { _ in }
        }
        try step("delete, 400 a request", records, batches) { try client.delete(Array(names[$0])) }
    }
}
