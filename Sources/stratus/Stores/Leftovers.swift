// What processes have left that were killed: a verb begins by finishing or undoing it, and says so.
//
//   * A store whose emptying was begun is emptied to its end.
//   * Accounts that are deleted by half are deleted with all that is theirs.
//   * Unfinished copies of stores, and drafts of files, are removed from the folder that the verb works in.
//
// Locks tell the dead from the living, so that verbs which run at the same time leave each other alone.

import Foundation
import FoundationEssentials
import StratusCloud
import StratusKit
import StratusRecords

enum Leftovers {
    /// For a verb that works on the store at `path`.
    ///
    /// Throws the errors of opening a store, where one is to be emptied.
    static func finish(at path: String) throws {
        sweep(besides: path)
        guard try StoreFiles.finishEmptying(path) else { return }
        Console.note("note: finished the emptying of \(VisibleText.of(path)), in which a process was killed")
    }

    /// Whether anything is left of deleted accounts. The verb reports what cannot be read.
    static func hasDepartures(_ engine: RecordEngine) -> Bool {
        let departures = try? engine.read { try AccountDirectory().departures(limit: 1, in: $0) }
        return departures.map { !$0.isEmpty } ?? false
    }

    /// Removes what is left of deleted accounts. Where that fails a note says so, and the verb goes on.
    static func finishDepartures(of stratus: Stratus) {
        let progress = ProgressLine("removing", total: nil, on: Console(usesJSON: false))
        do {
            defer { progress.finish() }
            try stratus.service.finishDepartures(progress: {
                progress.update($0.part.words, $0.doneCount, of: $0.totalCount ?? 0)
            })
            Console.note("note: removed what deleted accounts had left")
        } catch {
            let reason = ErrorReport(error).lines.first ?? ""
            Console.note("note: what deleted accounts have left could not be removed: \(VisibleText.of(reason))")
        }
    }

    /// For a verb that makes something at `path`.
    static func sweep(besides path: String) {
        let path = AbsolutePath.of(path)
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
        let place = folder.isEmpty ? "/" : folder
        for left in StoreFiles.sweepUnfinishedCopies(in: place) + DraftFile.sweep(place) {
            Console.noteOfLeftover(left)
        }
    }
}

// A verified copy of a whole store, and how far it has come: a backup, or a store that is made of one.

enum StoreCopy {
    /// Copies the store at `source`, and has `report` say so. `verb` says what that is ("restoring"). What is not finished is
    /// removed where a signal ends the process, and the copy where it cannot be reported: it is there only where the verb
    /// reports success.
    ///
    /// Throws the errors of a backup, and what `report` does.
    static func make(
        of source: String, at destination: String, _ verb: String, _ console: Console,
        report: (Stratus.BackupReport) throws -> Void
    ) throws {
        Leftovers.sweep(besides: destination)
        try Leftovers.finish(at: source)
        UnfinishedWork.removeCopiesAtEnd(of: destination, by: StoreFiles.copyRemoval)
        let figures = try copy(source, to: destination, verb, console)
        do {
            try report(figures)
            try console.flush()
        } catch {
            StoreFiles.removeMade(URL(fileURLWithPath: destination).path)
            throw error
        }
    }

    private static func copy(
        _ source: String, to destination: String, _ verb: String, _ console: Console
    ) throws -> Stratus.BackupReport {
        let progress = ProgressLine(verb, total: nil, on: console)
        defer { progress.finish() }
        return try Stratus.backup(
            ofStoreAt: URL(fileURLWithPath: source), to: URL(fileURLWithPath: destination),
            progress: {
                progress.update($0.part.words, $0.doneCount, of: $0.totalCount, $0.countsBytes ? .bytes : .items)
            }, making: { try StopSignal.making($0) })
    }
}

extension BackupProgress.Part {
    /// As they follow the verb.
    fileprivate var words: String {
        switch self {
        case .operations: "long-lived operations"
        case .contents: "assets"
        case .tables: "tables"
        case .entries: "and verifying entries"
        case .namedContents: "and comparing assets"
        case .contentBytes: "and verifying assets"
        case .holders: "and counting who holds assets"
        case .incarnations: "and expiring tokens of zones"
        }
    }
}
