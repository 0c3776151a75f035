// stratus watch: shows the requests of a host as they happen.

import ArgumentParser
import StratusKit

struct Watch: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Watches a host: every request that it answers, and requests per second.",
        discussion: """
            The store must be open in a process that serves it: Stratus.Options.servesTool. Watching ends with that \
            process, after --limit events, or when you interrupt it; the last line sums up everything. The host never \
            waits for the tool: a slow reader loses events, and the output says how many. The secrets of share URLs \
            are left out.

            --json: one line per event: {"time","operation","container","account","items","failedItems","conflicts",\
            "commits","milliseconds","errorCode","error"}; {"lost"} if events were lost; a summary is {"summary":\
            {"seconds","requests","failed","items","failedItems","conflicts","commits","lost","requestsPerSecond",\
            "itemsPerSecond","commitsPerSecond","operations":{NAME:requests}}}, and the last line sums up everything.

            Example: stratus watch --summary --store ./store
            """)

    @Flag(help: "Show rates instead of events.")
    var summary = false

    @Option(parsing: .unconditional, help: ArgumentHelp("The time between two rates.", valueName: "seconds"))
    var interval = 1.0

    @Option(
        parsing: .unconditional, help: ArgumentHelp("End after this many events; 0 for no limit.", valueName: "count"))
    var limit = 0

    @OptionGroup var store: WholeStoreArguments

    func validate() throws {
        guard (0.1...86_400).contains(interval) else {
            throw ValidationError("--interval must be 0.1 to 86400 seconds.")
        }
        guard limit >= 0 else { throw ValidationError("--limit must be a number of events, or 0 for no limit.") }
    }

    func run() throws {
        let console = Console(usesJSON: store.json)
        let path = try StoreAddress.directory(
            of: store.store,
            instead: "Watch the events of the host itself: verbs do not reach it through a store on PostgreSQL.")
        try StorePath.require(path)
        guard let watch = try HostWatch(directory: path) else {
            throw try StoreFiles.notServed(path, "No process has the store open: there is nothing to watch.")
        }
        StopSignal.stopQuietly()
        if !store.json { Console.note("note: watching process \(watch.processID); interrupt to end") }
        var whole = WatchTally()
        var recent = WatchTally()
        watching: while !StopSignal.isRequested {
            let next = try watch.next(waitingAtMost: max(0, interval - recent.seconds)) { StopSignal.isRequested }
            if recent.seconds >= interval {
                try showRates(recent, console)
                recent = WatchTally()
            }
            switch next {
            case .ended:
                if !StopSignal.isRequested { sayEnded(console) }
                break watching
            case .nothing: continue
            case .events(let events):
                try show(events, left: limit == 0 ? .max : limit - whole.requests, &whole, &recent, console)
                if events.isLast { sayEnded(console) }
                if events.isLast || (limit > 0 && whole.requests >= limit) { break watching }
            }
        }
        console.clearProgressLine()
        try console.line(whole.text)
        try console.object(["summary": whole.object])
        try console.flush()
    }

    private func sayEnded(_ console: Console) {
        if !store.json { Console.note("note: the host has ended") }
    }

    private func show(
        _ page: WatchedEvents, left: Int, _ whole: inout WatchTally, _ recent: inout WatchTally, _ console: Console
    ) throws {
        console.clearProgressLine()
        whole.lostCount += page.lostCount
        recent.lostCount += page.lostCount
        if page.lostCount > 0, !summary {
            try console.line("… \(Quantities.count(page.lostCount, "event")) lost")
            try console.object(["lost": page.lostCount])
        }
        for event in page.events.prefix(left) {
            whole.add(event)
            recent.add(event)
            guard !summary else { continue }
            try console.line(event.line(console))
            try console.object(event.object)
        }
        try console.flush()
    }

    /// Prints the rates with --summary; otherwise draws them below the events on a terminal.
    private func showRates(_ recent: WatchTally, _ console: Console) throws {
        if summary {
            try console.line(recent.rates)
            try console.object(["summary": recent.object])
            try console.flush()
        } else if !store.json, console.drawsProgress {
            console.redraw(recent.rates)
        }
    }
}

/// The events of a period, counted.
private struct WatchTally {
    private let started = ContinuousClock.now
    private(set) var requests = 0
    private var failed = 0
    private var items = 0
    private var failedItems = 0
    private var conflicts = 0
    private var commits = 0
    private var operations: [String: Int] = [:]
    var lostCount = 0

    var seconds: Double { Quantities.seconds(.now - started) }

    mutating func add(_ event: WatchedEvent) {
        requests += 1
        if event.errorCode != nil { failed += 1 }
        items += event.itemCount
        failedItems += event.failedItemCount
        conflicts += event.conflictCount
        commits += event.commitCount
        operations[event.operation, default: 0] += 1
    }

    private func rate(_ count: Int) -> Double { Double(count) / max(seconds, 0.001) }

    /// "120.0 requests/s (fetchRecords 100, modifyRecords 20), 400.0 items/s, 20.0 commits/s".
    var rates: String {
        let kinds = operations.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { "\($0.key) \($0.value)" }
        var parts = [
            "\(Quantities.decimal(rate(requests), places: 1)) requests/s"
                + (kinds.isEmpty ? "" : " (\(kinds.joined(separator: ", ")))"),
            "\(Quantities.decimal(rate(items), places: 1)) items/s",
            "\(Quantities.decimal(rate(commits), places: 1)) commits/s",
        ]
        if failed > 0 { parts.append("\(Quantities.count(failed)) failed") }
        if conflicts > 0 { parts.append(Quantities.count(conflicts, "conflict")) }
        if lostCount > 0 { parts.append("\(Quantities.count(lostCount)) lost") }
        return parts.joined(separator: ", ")
    }

    var text: String {
        "\(Quantities.count(requests, "request")) in \(Quantities.decimal(seconds, places: 1)) s: \(rates)"
    }

    var object: JSONObject {
        [
            "seconds": seconds, "requests": requests, "failed": failed, "items": items, "failedItems": failedItems,
            "conflicts": conflicts, "commits": commits, "lost": lostCount, "requestsPerSecond": rate(requests),
            "itemsPerSecond": rate(items), "commitsPerSecond": rate(commits),
            "operations": JSONObject(sorted: operations),
        ]
    }
}

extension WatchedEvent {
    fileprivate func line(_ console: Console) -> String {
        var parts = ["\(Quantities.date(date))  \(console.styled(operation, .bold))"]
        if !container.isEmpty { parts.append(VisibleText.of(container)) }
        if let account { parts.append("account \(VisibleText.of(account))") }
        parts.append(Quantities.count(itemCount, "item"))
        if failedItemCount > 0 { parts.append("\(Quantities.count(failedItemCount)) failed") }
        if conflictCount > 0 { parts.append(Quantities.count(conflictCount, "conflict")) }
        if commitCount > 0 { parts.append(Quantities.count(commitCount, "commit")) }
        parts.append(Quantities.duration(.seconds(durationSeconds)))
        if let error { parts.append(console.styled(VisibleText.of(error), .red)) }
        return parts.joined(separator: "  ")
    }

    fileprivate var object: JSONObject {
        [
            "time": Quantities.timestamp(date), "operation": operation, "container": container, "account": account,
            "items": itemCount, "failedItems": failedItemCount, "conflicts": conflictCount, "commits": commitCount,
            "milliseconds": Quantities.milliseconds(.seconds(durationSeconds)), "errorCode": errorCode, "error": error,
        ]
    }
}
