// The two tables of Docs/ARCHITECTURE.md that the rules enforce: targets with what they may import, and the folders
// inside each target from low to high. The page is their only source.

/// What the architecture page says.
struct Architecture {
    /// What every target may import without saying so.
    static let importableEverywhere: Set = ["Swift", "FoundationEssentials", "Synchronization"]
    static let path = "Docs/ARCHITECTURE.md"

    /// Target → modules it may import; nil means all of them.
    var imports: [String: Set<String>?] = [:]
    /// Target → its one-line description.
    var descriptions: [String: String] = [:]
    /// Target → folders, low to high.
    var folders: [String: [String]] = [:]

    init(imports: [String: Set<String>?] = [:], folders: [String: [String]] = [:]) {
        self.imports = imports
        self.folders = folders
    }

    /// Reads the tables whose header rows begin `| target | one line | imports |` and
    /// `| target | folders, low to high |`.
    init(markdown: String) {
        var header: [String] = []
        for line in markdown.split(separator: "\n", omittingEmptySubsequences: false) {
            guard let cells = Self.cells(of: line) else {
                header = []
                continue
            }
            if header.isEmpty {
                header = cells
            } else if cells.allSatisfy({ $0.allSatisfy { "-: ".contains($0) } }) {
                continue
            } else if header == ["target", "one line", "imports"], cells.count == 3 {
                descriptions[cells[0]] = cells[1]
                imports[cells[0]] = .some(cells[2] == "all" ? nil : Set(Self.names(in: cells[2])))
            } else if header == ["target", "folders, low to high"], cells.count == 2 {
                folders[cells[0]] = Self.names(in: cells[1])
            }
        }
    }

    private static func cells(of line: Substring) -> [String]? {
        guard line.hasPrefix("|") else { return nil }
        return line.dropFirst().split(separator: "|", omittingEmptySubsequences: false).dropLast().map { cell in
            String(cell.filter { $0 != "`" }).trimmed
        }
    }

    /// The names of a comma-separated cell, remarks in parentheses and a lone dash left out.
    private static func names(in cell: String) -> [String] {
        cell.split(separator: ",").compactMap { part in
            let name = String(part.prefix { $0 != "(" }).trimmed
            return name.isEmpty || name == "–" || name == "-" ? nil : name
        }
    }
}

extension StringProtocol {
    /// Without spaces and tabs at both ends.
    var trimmed: String {
        let start = drop { $0 == " " || $0 == "\t" }
        guard let last = start.lastIndex(where: { $0 != " " && $0 != "\t" }) else { return "" }
        return String(start[...last])
    }
}
