// The unfinished work of killed processes, and copies of whole stores. Every verb begins by finishing or removing such
// work:
//
//   * It finishes emptying a store.
//   * It finishes deleting accounts with all their data.
//   * It removes unfinished copies of stores, and drafts of files, from the folder that the verb works in.
//
// Locks show which processes are alive, so concurrent verbs do not disturb each other.

import Foundation
import StratusCloud
import StratusKit

enum Leftovers {
    /// Finishes and removes unfinished work, for a verb on the store at `path`.
    ///
    /// Throws the errors of opening a store, if it finishes emptying one.
    static func finish(at path: String) throws {
        sweep(besides: path)
        guard try StoreFiles.finishEmptying(path) else { return }
        Console.note("note: finished emptying \(VisibleText.of(path)), which a killed process had begun")
    }

    /// Removes the remaining data of deleted accounts. If that fails, writes a note and continues.
    static func finishDepartures(of stratus: Stratus) {
        let progress = ProgressLine("removing", on: Console(usesJSON: false))
        do {
            try stratus.service.finishDepartures(progress: {
                progress.update($0.part.words, $0.doneCount, of: $0.totalCount ?? 0)
            })
            Console.note("note: removed the remaining data of deleted accounts")
        } catch {
            let reason = ErrorReport(error).lines.first ?? ""
            Console.note("note: could not remove the remaining data of deleted accounts: \(VisibleText.of(reason))")
        }
    }

    /// Removes unfinished copies and drafts, for a verb that creates something at `path`.
    static func sweep(besides path: String) {
        let path = AbsolutePath.of(path)
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
        let place = folder.isEmpty ? "/" : folder
        for left in StoreFiles.sweepUnfinishedCopies(in: place) + DraftFile.sweep(place) {
            Console.noteOfLeftover(left)
        }
    }
}

/// A verified copy of a whole store: a backup, or a store that is restored from one.
enum StoreCopy {
    /// Copies the store at `source` and reports success. `verb` is the work ("restoring"). A signal removes an
    /// unfinished copy. The copy is removed too if `report` fails: it exists only if the verb reports success.
    ///
    /// Throws the errors of a backup and those of `report`.
    static func make(
        of source: String, at destination: String, _ verb: String, _ console: Console,
        report: (Stratus.BackupReport, Duration, Console) throws -> Void
    ) throws {
        let started = ContinuousClock.now
        Leftovers.sweep(besides: destination)
        try Leftovers.finish(at: source)
        StoreFiles.removeUnfinishedCopiesAtEnd(of: destination)
        let progress = ProgressLine(verb, on: console)
        let figures = try Stratus.backup(
            ofStoreAt: URL(fileURLWithPath: source), to: URL(fileURLWithPath: destination),
            progress: {
                progress.update($0.part.words, $0.doneCount, of: $0.totalCount, $0.countsBytes ? .bytes : .items)
            }, making: { try StopSignal.making($0) })
        do {
            try report(figures, .now - started, console)
            try console.flush()
        } catch {
            StoreFiles.removeMade(URL(fileURLWithPath: destination).path)
            throw error
        }
    }
}

extension BackupProgress.Part {
    /// The part in words that follow the verb.
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
