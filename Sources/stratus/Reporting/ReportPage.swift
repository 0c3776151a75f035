// A report as one self-contained page. It consists of tables with bars next to the numbers, so that screen readers can
// read everything.

import FoundationEssentials

struct ReportPage {
    private let report: StoreReport

    static func text(of report: StoreReport) -> String {
        let heading = report.person.map { "What \($0) sees" } ?? "Store \(DisplayText.of(report.path))"
        return PageFrame.text(heading: heading, body: ReportPage(report: report).body)
    }

    private var body: Markup {
        let copy: Markup = report.isCopy ? "a copy of a store that another process has open, " : ""
        return """
            <p class="soft">\(copy)as of \(Quantities.date(report.date)) UTC</p>
            \(figures)
            <h2 id="zones">Zones</h2>
            \(zones)
            <h2 id="types">Types of records</h2>
            \(types)
            <h2 id="hierarchy">Hierarchy</h2>
            \(hierarchy)
            <h2 id="shares">Shares</h2>
            \(shares)
            <h2 id="changes">Changes</h2>
            \(changes)\(isForHost ? ofHost : "")
            """
    }

    /// Whether the report shows everything.
    private var isForHost: Bool { report.person == nil }

    /// The sections that only the host may see.
    private var ofHost: Markup {
        """

        <h2 id="health">Health of the indexes</h2>
        \(health)
        <h2 id="files">LevelDB's files</h2>
        \(files)
        """
    }

    private var figures: Markup {
        var figures: [(String, String)] = [
            ("records", Quantities.count(report.recordCount)), ("zones", Quantities.count(report.zoneCount)),
            ("shares", Quantities.count(report.shareCount)), ("values", Quantities.bytes(report.valueByteCount)),
        ]
        if isForHost {
            figures += [
                ("databases", Quantities.count(report.databaseCount)),
                ("accounts", Quantities.count(report.accountCount)),
                ("assets", Quantities.bytes(report.contentByteCount)),
                ("files", Quantities.bytes(report.files.reduce(0) { $0 + $1.byteCount })),
                ("writes in total", Quantities.count(report.sequenceSum)),
            ]
        }
        let parts = Markup(figures) { title, value in "<div><dt>\(title)</dt><dd>\(value)</dd></div>\n" }
        return "<dl>\n\(parts)</dl>"
    }

    private var zones: Markup {
        guard !report.zones.isEmpty else { return "<p>There is no zone.</p>" }
        let most = report.zones.map(\.recordCount).max() ?? 1
        var rows = Markup(report.zones) { zone in
            row(zone, title: PageFrame.name(zone.address), bar: Self.bar(zone.recordCount, of: most))
        }
        if report.otherZoneCount > 0 {
            rows += row(
                report.otherZones, title: "… \(Quantities.count(report.otherZoneCount, "more zone"))",
                bar: Self.bar(0, of: most))
        }
        let estimate = ". Files are LevelDB's estimate of compressed sizes, without data in memory."
        let head =
            ["Zone", "Records", "Of the largest", "Values"] + (isForHost ? ["Files, about", "Deleted"] : [])
            + ["Shares"] + (isForHost ? ["Sequence", "Horizon"] : [])
        return PageFrame.table(
            caption: "Zones, the largest first\(isForHost ? estimate : "")", head: head,
            numbers: Set(head.indices).subtracting([0, 2]), rows: rows)
    }

    private func row(_ zone: StoreReport.Zone, title: Markup, bar: Markup) -> Markup {
        var cells = [Self.number(zone.recordCount), bar, Self.size(zone.valueByteCount)]
        if isForHost { cells += [Self.size(zone.fileByteCount), Self.number(zone.deletedCount)] }
        cells.append(Self.number(zone.shareCount))
        if isForHost { cells += [zone.sequence, zone.horizon].map { Self.number(Int(clamping: $0)) } }
        return Self.row(title, isWide: true, cells)
    }

    private var types: Markup {
        let all = report.types + (report.otherTypes.count > 0 ? [report.otherTypes] : [])
        guard !all.isEmpty else { return "<p>There is no record.</p>" }
        let most = all.map(\.count).max() ?? 1
        let rows = Markup(all) { type in
            Self.row(
                PageFrame.name(type.title), isWide: true,
                [Self.number(type.count), Self.bar(type.count, of: most), Self.size(type.byteCount)])
        }
        return PageFrame.table(
            caption: "Records by type, the most frequent first",
            head: ["Type", "Records", "Of the largest", "Values"], numbers: [1, 3], rows: rows)
    }

    private var hierarchy: Markup {
        let shape = report.shape
        let depth = Self.histogram(
            caption: "Records by level: those without a parent are at level 0", title: "Level", rows: shape.levelRows)
        let width = Self.histogram(
            caption: "Records with children, by how many they have", title: "Children", rows: shape.fanOutRows)
        return """
            <p>The deepest record is at level \(Quantities.count(shape.deepestLevel)). \
            \(Quantities.count(shape.folderCount, "record has", "records have")) children, the widest \
            \(Quantities.count(shape.widest)) of them.</p>
            \(depth)\(width)
            """
    }

    private static func histogram(caption: String, title: String, rows all: [(title: String, count: Int)]) -> Markup {
        guard !all.isEmpty else { return "" }
        let most = all.map(\.count).max() ?? 1
        let rows = Markup(all) { row in
            self.row("\(row.title)", [number(row.count), bar(row.count, of: most)])
        }
        return PageFrame.table(
            caption: caption, head: [title, "Records", "Of the largest"], numbers: [1], rows: rows)
    }

    // MARK: Rows and cells

    /// A row of a table. `isWide` leaves room for a long title.
    private static func row(_ title: Markup, isWide: Bool = false, _ cells: [Markup]) -> Markup {
        let style: Markup = isWide ? "class=\"name\" " : ""
        return "<tr><th \(style)scope=\"row\">\(title)</th>\(Markup(cells) { $0 })</tr>\n"
    }

    static func number(_ value: Int) -> Markup { "<td class=\"number\">\(Quantities.count(value))</td>" }
    static func size(_ value: Int) -> Markup { "<td class=\"number\">\(Quantities.bytes(value))</td>" }

    /// A bar next to its number. Screen readers skip it.
    static func bar(_ count: Int, of most: Int) -> Markup {
        // Show small values too.
        let width = count == 0 ? 0 : max(3, Int((Double(count) / Double(max(1, most)) * 1_000).rounded()))
        let svg: Markup = """
            <svg width="100%" height="12" viewBox="0 0 1000 12" preserveAspectRatio="none" aria-hidden="true">\
            <rect class="fill" width="\(width)" height="12"/></svg>
            """
        return "<td class=\"bar\">\(svg)</td>"
    }
}

// MARK: - Shares, changes, health, files

extension ReportPage {
    private var shares: Markup {
        guard !report.shares.isEmpty else { return "<p>Nothing is shared.</p>" }
        let pictures = report.shares.map { sharing -> PictureShare in
            var share = sharing.share
            share.rootLabel = "\(share.rootLabel ?? "the whole zone") (\(sharing.owner), zone \(sharing.zone))"
            return share
        }
        var urls: Markup = ""
        for (index, sharing) in report.shares.enumerated() {
            guard let url = sharing.url else { continue }
            urls += "<li>\(PageFrame.badge(index)) <code>\(url)</code></li>\n"
        }
        let secrets: Markup =
            urls.markup.isEmpty
            ? "<p class=\"soft\">URLs of shares are secrets and are left out.</p>"
            : "<p class=\"bad\">The URLs of shares are secrets: protect this page like the store.</p><ul>\n\(urls)</ul>"
        let table = PageFrame.shareTable(pictures, moreCount: report.shareCount - report.shares.count)
        return "\(ShareMap(report.shares).figure)\(table)\(secrets)"
    }

    private var changes: Markup {
        let rows = Markup(report.ages.rows) { row in
            Self.row("\(row.title)", [Self.number(row.count), "<td class=\"number\">\(row.rate)</td>"])
        }
        let ages = PageFrame.table(
            caption: "Records by their last change\(isForHost ? ", including deletions" : "")",
            head: ["Within", "Records", "Per hour"],
            numbers: [1, 2], rows: rows)
        let deletions =
            "; \(Quantities.count(report.deletedCount)) of them \(report.deletedCount == 1 ? "is a deletion" : "are deletions")"
        let writes = " The zones have counted \(Quantities.count(report.sequenceSum, "write")) since they were created."
        return """
            <p>Each record counts once, at its last change\(isForHost ? deletions : "").\(isForHost ? writes : "")</p>
            \(chart)\(ages)
            """
    }

    /// Bars over time, and the same numbers as a table.
    private var chart: Markup {
        let rows = report.changes.rows
        guard let first = rows.first, let last = rows.last else { return "<p>There are no changes.</p>" }
        let most = max(1, rows.map(\.bar.count).max() ?? 1)
        var bars: Markup = ""
        var lines: Markup = ""
        for (index, row) in rows.enumerated() {
            let saved = Self.height(row.bar.saved, most)
            let deleted = Self.height(row.bar.deleted, most)
            bars += """
                <rect class="fill" x="\(index * 10 + 1)" y="\(120 - saved)" width="8" height="\(saved)"/>\
                <rect class="fill2" x="\(index * 10 + 1)" y="\(120 - saved - deleted)" width="8" height="\(deleted)"/>

                """
            guard row.bar.count > 0 else { continue }
            let numbers = [row.bar.saved] + (isForHost ? [row.bar.deleted] : [])
            lines += Self.row("\(Quantities.date(row.start))", numbers.map(Self.number))
        }
        let width = rows.count * 10
        let label = "Last changes over time, a bar for \(report.changes.widthText), at most \(Quantities.count(most))"
        let table = PageFrame.table(
            caption: "Last changes, a line for \(report.changes.widthText)",
            head: ["From", "Saved"] + (isForHost ? ["Deleted"] : []), numbers: [1, 2], rows: lines)
        let deletions = isForHost ? " Deletions are on top, in the other colour." : ""
        return """
            <figure>
            <svg role="img" aria-label="\(label)" width="100%" height="120" viewBox="0 0 \(width) 120" \
            preserveAspectRatio="none">\(bars)<path class="base" d="M0 119.5H\(width)"/></svg>
            <div class="axis"><span>\(Quantities.date(first.start))</span><span>\(Quantities.date(last.start))</span></div>
            <figcaption class="soft">A bar is \(report.changes.widthText); the highest bar is \
            \(Quantities.count(most, "record")).\(deletions)</figcaption>
            </figure>
            <details><summary>The bars as a table</summary>
            \(table)</details>

            """
    }

    private static func height(_ count: Int, _ most: Int) -> Int {
        count == 0 ? 0 : max(2, Int(Double(count) / Double(most) * 116))
    }

    private var health: Markup {
        guard let verification = report.verification else {
            return """
                <p>Not verified. <code>stratus report --verify</code> checks every byte against its checksum and every \
                index against the records.</p>
                """
        }
        let verdict: Markup =
            verification.isClean
            ? "<p class=\"good\">✓ Verified: nothing is wrong.</p>"
            : "<p class=\"bad\">✗ Verified: something is wrong.</p>"
        let lines = Markup(verification.lines()) { line in "<li>\(DisplayText.of(line, limit: 500))</li>\n" }
        return "\(verdict)<ul>\n\(lines)</ul>"
    }

    private var files: Markup {
        let contents = report.contents + (report.otherContents.count > 0 ? [report.otherContents] : [])
        return Self.table("Tables by level", ["Level", "Tables"], of: report.levels)
            + Self.table("Files in the store's directory, without assets", ["Kind", "Files"], of: report.files)
            + (contents.isEmpty
                ? ""
                : Self.table("Asset contents, each counted once for its owner", ["Owner", "Contents"], of: contents))
    }

    private static func table(_ caption: String, _ head: [String], of files: [StoreReport.Amount]) -> Markup {
        let most = files.map(\.byteCount).max() ?? 1
        let rows = Markup(files) { one in
            row("\(one.title)", [number(one.count), size(one.byteCount), bar(one.byteCount, of: most)])
        }
        return PageFrame.table(
            caption: caption, head: head + ["Bytes", "Of the largest"], numbers: [1, 2], rows: rows)
    }
}
