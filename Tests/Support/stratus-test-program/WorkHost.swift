// A host of a store on a PostgreSQL server that does one kind of background work, in a process of its own, which tests
// kill and pause in the middle of it.

import Foundation
import StratusCloud
import StratusKit
import StratusLayout
import StratusPostgres
import StratusRecords
import StratusStore
import StratusTestSupport

/// Opens the store at an address, and does the work that is named until there is no more, or another host has it.
/// Prints "working" after the first commit of the work and waits until the input ends. At the end prints "lost" if it
/// was refused a commit because another host had the work, otherwise "done"; or the error.
func workOnServer(_ arguments: [String]) {
    guard arguments.count == 2, let work = BackgroundWork.allCases.first(where: { "\($0)" == arguments[1] }) else {
        say("usage: work URL \(BackgroundWork.allCases.map { "\($0)" }.joined(separator: "|"))")
        exit(64)
    }
    do {
        let identifiers = RandomIdentifiers()
        let host = identifiers.makeUUID()
        let opened = try PostgresStore.open(url: arguments[0], options: PostgresOptions { .random(in: 0 ... .max) })
        let store = HaltingStore(opened.store, on: work, of: host) {
            say("working")
            while readLine() != nil {}
        }
        defer { store.close() }
        try doWork(work, by: service(on: store, host, identifiers))
        say(store.wasRefused ? "lost" : "done")
    } catch {
        say("\(error)")
    }
}

private func service(
    on store: HaltingStore, _ host: UUID, _ identifiers: RandomIdentifiers
) throws -> CloudService {
    var options = RecordEngineOptions()
    // So that little work takes several commits.
    options.limits.purgeBatchCount = 2
    let engine = try RecordEngine(store: store, options: options, incarnation: host)
    // Only copies for clients would be there, and there are none.
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("stratus-work-\(host)").path
    let assets = AssetStore(directory: directory, session: identifiers.makeUUID(), clock: SystemClock(), engine: engine)
    return CloudService(
        engine: engine, environment: CloudEnvironment(clock: SystemClock(), identifiers: identifiers), assets: assets)
}

/// What a host does in the background from time to time. History expires at once.
private func doWork(_ work: BackgroundWork, by service: CloudService) throws {
    defer { service.engine.leave() }
    if work == .deliveries {
        _ = try service.deliverNotifications()
    } else {
        try service.performUpkeep(historySeconds: work == .history ? 0 : nil, UpkeepPace(pause: {}))
    }
}
