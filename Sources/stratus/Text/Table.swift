// Columns of text, aligned.

/// A table that is printed whole: for summaries, never for lists of records.
struct Table {
    enum Alignment {
        case left
        case right
    }

    private let columns: [(title: String, alignment: Alignment)]
    private var rows: [[String]] = []

    init(_ columns: [(title: String, alignment: Alignment)]) { self.columns = columns }

    mutating func addRow(_ cells: [String]) { rows.append(cells) }

    var lines: [String] {
        let widths = columns.indices.map { index in
            ([columns[index].title] + rows.map { $0[index] }).map(\.count).max() ?? 0
        }
        let rule = widths.map { String(repeating: "-", count: $0) }
        return ([columns.map(\.title), rule] + rows).map { cells in
            let padded = cells.indices.map { index in
                let padding = String(repeating: " ", count: widths[index] - cells[index].count)
                return columns[index].alignment == .left ? cells[index] + padding : padding + cells[index]
            }
            let line = padded.joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed())
        }
    }
}
