// The options and the results of a tree import.

extension FileProblem {
    /// The line with the count.
    func text(count: Int) -> String {
        let number = Quantities.count(count)
        let isOne = count == 1
        switch self {
        case .vanished: return "\(number) vanished during the import"
        case .unreadableFolder:
            return Quantities.count(count, "folder") + " that cannot be read "
                + (isOne ? "(its contents stay unchanged)" : "(their contents stay unchanged)")
        case .unreadableFile: return Quantities.count(count, "file") + " that cannot be read (saved without SHA-256)"
        case .unreadableFacts: return Quantities.count(count, "file") + " whose facts cannot be read (skipped)"
        case .specialFile:
            return number + (isOne ? " device, pipe or socket (skipped)" : " devices, pipes and sockets (skipped)")
        case .keptType:
            return Quantities.count(count, "record")
                + (isOne ? " has another type than its file" : " have another type than their files")
                + ", and others below or a share (kept)"
        }
    }
}

struct ImportReport: Sendable {
    /// How many problems of each kind are named; the others are counted.
    static let namedProblemCount = 10

    struct Tally: Sendable {
        private(set) var count = 0
        private(set) var examples: [String] = []

        mutating func add(_ name: @autoclosure () -> String) {
            count += 1
            if examples.count < ImportReport.namedProblemCount { examples.append(name()) }
        }

        var object: JSONObject { ["count": count, "examples": examples] }
    }

    var folderCount = 0
    var fileCount = 0
    var symbolicLinkCount = 0
    /// Names that are not valid UTF-8.
    var escapedNameCount = 0
    var createdCount = 0
    var changedCount = 0
    var unchangedCount = 0
    /// Records that were moved in the store, so that their place differs from their files'.
    var movedInStoreCount = 0
    var hashedFileCount = 0
    var hashedByteCount: Int64 = 0
    var gone = Tally()
    var deletedCount = 0
    /// Records of gone files that were kept because they have others below them.
    var keptCount = 0
    var problems: [FileProblem: Tally] = [:]

    var recordCount: Int { folderCount + fileCount + symbolicLinkCount }
    var savedCount: Int { createdCount + changedCount }

    mutating func add(_ problem: FileProblem, _ name: @autoclosure () -> String) {
        problems[problem, default: Tally()].add(name())
    }
}

extension ImportReport {
    /// Lines for people, with visible names.
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
            lines.append("\(Quantities.count(movedInStoreCount, "record")) moved within the store: place unchanged")
        }
        if gone.count > 0 {
            let what = Quantities.count(gone.count, "record")
            lines.append(
                deletedCount + keptCount > 0
                    ? "\(what) gone from the disk: \(Quantities.count(deletedCount)) deleted, "
                        + "\(Quantities.count(keptCount)) kept because they have records below them"
                    : "\(what) gone from the disk: kept (--delete deletes them)")
            lines += named(gone)
        }
        for problem in FileProblem.allCases {
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
        [
            "records": recordCount, "folders": folderCount, "files": fileCount, "symbolicLinks": symbolicLinkCount,
            "escapedNames": escapedNameCount, "created": createdCount, "changed": changedCount,
            "unchanged": unchangedCount, "movedInStore": movedInStoreCount, "hashedFiles": hashedFileCount,
            "hashedBytes": hashedByteCount, "gone": gone.object, "deleted": deletedCount, "kept": keptCount,
            "problems": JSONObject(
                members: FileProblem.allCases.map { ($0.rawValue, (problems[$0] ?? Tally()).object) }),
        ]
    }
}

/// The options of an import.
struct ImportOptions: Sendable {
    /// The directory from the command line.
    var directory: [UInt8]
    /// The name of the imported tree: the label and the record name of its top.
    var topName: FileName
    /// Files up to this size are hashed, in bytes.
    var digestLimitByteCount: Int64 = 64 << 10
    /// Whether files with unchanged size and date are hashed again.
    var readsUnchangedFiles = false
    /// Whether the records of gone files are deleted.
    var deletesGone = false
    /// Whether the directory may have another path than at the last import.
    var acceptsNewOrigin = false
    /// How many records one commit saves or deletes.
    var commitRecordCount = 400

    /// The options for a directory from the command line. Without another name, the directory's is that of the tree.
    init(path: String, topName: String? = nil) {
        let path = AbsolutePath.of(path)
        directory = Array(path.utf8)
        self.topName = FileName(Array((topName ?? path.split(separator: "/").last.map(String.init) ?? "root").utf8))
    }
}
