// What an import has found and done.

import StratusModel

/// Something an import could not take as it is; counted, and the first ones named.
enum ImportProblem: String, CaseIterable, Hashable, Sendable {
    case vanished
    case unreadableFolder
    case unreadableFile
    case unreadableFacts
    case specialFile
    case keptType

    /// The line that tells how often it came up.
    func text(count: Int) -> String {
        let number = Quantities.count(count)
        let isOne = count == 1
        switch self {
        case .vanished: return "\(number) vanished while the import ran"
        case .unreadableFolder:
            return Quantities.count(count, "folder") + " that cannot be read "
                + (isOne ? "(its contents were left as they are)" : "(their contents were left as they are)")
        case .unreadableFile: return Quantities.count(count, "file") + " that cannot be read (saved without SHA-256)"
        case .unreadableFacts: return Quantities.count(count, "file") + " whose facts cannot be read (skipped)"
        case .specialFile:
            return number + (isOne ? " device, pipe or socket (skipped)" : " devices, pipes and sockets (skipped)")
        case .keptType:
            return Quantities.count(count, "record")
                + " that others lie below, or that roots a share, of another type than "
                + (isOne ? "its file (kept)" : "their files (kept)")
        }
    }
}

struct ImportReport: Sendable {
    /// Of each problem so many are named; the others are counted.
    static let namedProblemCount = 10

    struct Tally: Sendable {
        private(set) var count = 0
        private(set) var examples: [String] = []

        mutating func add(_ name: @autoclosure () -> String) {
            count += 1
            if examples.count < ImportReport.namedProblemCount { examples.append(name()) }
        }
    }

    var folderCount = 0
    var fileCount = 0
    var symbolicLinkCount = 0
    /// Names that are not valid UTF-8.
    var escapedNameCount = 0
    var createdCount = 0
    var changedCount = 0
    var unchangedCount = 0
    /// Records that lie elsewhere in the store than their files on disk, because somebody moved them there.
    var movedInStoreCount = 0
    var hashedFileCount = 0
    var hashedByteCount: Int64 = 0
    var gone = Tally()
    var deletedCount = 0
    /// Records of gone files that were not deleted because records still lie below them.
    var keptCount = 0
    var problems: [ImportProblem: Tally] = [:]

    var recordCount: Int { folderCount + fileCount + symbolicLinkCount }
    var savedCount: Int { createdCount + changedCount }

    mutating func add(_ problem: ImportProblem, _ name: @autoclosure () -> String) {
        problems[problem, default: Tally()].add(name())
    }
}

extension ImportReport {
    /// Lines for people. Names are made visible here.
    var lines: [String] {
        var lines = [
            "\(Quantities.count(recordCount, "record")): \(Quantities.count(folderCount, "folder")), "
                + "\(Quantities.count(fileCount, "file")), \(Quantities.count(symbolicLinkCount, "symbolic link"))",
            "saved \(Quantities.count(createdCount)) new, \(Quantities.count(changedCount)) changed; "
                + "\(Quantities.count(unchangedCount)) unchanged; "
                + "hashed \(Quantities.count(hashedFileCount, "file")) (\(Quantities.bytes(hashedByteCount)))",
        ]
        if escapedNameCount > 0 {
            lines.append("\(Quantities.count(escapedNameCount, "name")) not valid UTF-8: escaped, kept as bytes too")
        }
        if movedInStoreCount > 0 {
            lines.append("\(Quantities.count(movedInStoreCount, "record")) moved within the store: left there")
        }
        if gone.count > 0 {
            let what = Quantities.count(gone.count, "record")
            lines.append(
                deletedCount + keptCount > 0
                    ? "\(what) gone from the disk: \(Quantities.count(deletedCount)) deleted, "
                        + "\(Quantities.count(keptCount)) kept because records lie below"
                    : "\(what) gone from the disk: kept (--delete deletes them)")
            lines += named(gone)
        }
        for problem in ImportProblem.allCases {
            guard let tally = problems[problem] else { continue }
            lines.append(problem.text(count: tally.count))
            lines += named(tally)
        }
        return lines
    }

    private func named(_ tally: Tally) -> [String] {
        let rest = tally.count - tally.examples.count
        return tally.examples.map { "  \(VisibleText.of($0))" }
            + (rest > 0 ? ["  … and \(Quantities.count(rest)) more"] : [])
    }

    var object: JSONObject {
        var object: JSONObject = [
            "records": JSONValue(recordCount), "folders": JSONValue(folderCount), "files": JSONValue(fileCount),
            "symbolicLinks": JSONValue(symbolicLinkCount), "escapedNames": JSONValue(escapedNameCount),
            "created": JSONValue(createdCount), "changed": JSONValue(changedCount),
            "unchanged": JSONValue(unchangedCount), "movedInStore": JSONValue(movedInStoreCount),
            "hashedFiles": JSONValue(hashedFileCount), "hashedBytes": .integer(hashedByteCount),
            "gone": .object(Self.object(of: gone)), "deleted": JSONValue(deletedCount), "kept": JSONValue(keptCount),
        ]
        var problemsObject: JSONObject = [:]
        for problem in ImportProblem.allCases {
            problemsObject.add(problem.rawValue, .object(Self.object(of: problems[problem] ?? Tally())))
        }
        object.add("problems", .object(problemsObject))
        return object
    }

    private static func object(of tally: Tally) -> JSONObject {
        ["count": JSONValue(tally.count), "examples": .array(tally.examples.map { .string($0) })]
    }
}

// What an import is asked to do.

struct ImportOptions: Sendable {
    /// The directory as the command line names it.
    var directory: [UInt8]
    /// The name of the imported tree: the label and the record name of its top.
    var topName: FileName
    /// Files up to this size are hashed, in bytes.
    var digestLimitByteCount: Int64 = 64 << 10
    /// Whether files whose size and date are as stored are hashed again.
    var readsUnchangedFiles = false
    /// Whether the records of files that are gone from the disk are deleted.
    var deletesGone = false
    /// Whether the tree may come from another directory than at the import before.
    var acceptsNewOrigin = false
    /// How many records are saved or deleted in one commit.
    var commitRecordCount = 400
}
