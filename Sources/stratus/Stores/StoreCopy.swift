// A verified copy of a whole store, and how far it has come: a backup, or a store that is made of one.

import Foundation
import StratusKit

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
        let progress = Progress(verb, total: nil, on: console)
        defer { progress.finish() }
        return try Stratus.backup(
            ofStoreAt: URL(fileURLWithPath: source), to: URL(fileURLWithPath: destination),
            progress: {
                progress.update($0.part.words, $0.doneCount, of: $0.totalCount, $0.countsBytes ? .bytes : .items)
            }, making: { try Interruption.making($0) })
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
