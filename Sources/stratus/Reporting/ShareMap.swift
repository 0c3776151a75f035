// A picture of shares: shares on the left, people on the right, and a line for every participant. The line is full,
// dashed or dotted for the rights; the table below the picture says them in words.

struct ShareMap {
    /// The limits of a picture that people can still read.
    private static let shareCount = 16
    private static let personCount = 24
    private static let top = 26

    /// A person, with a line for each share.
    private struct Person {
        var title: String
        var lines: [(share: Int, person: PicturePerson)]
    }

    private let shares: [StoreReport.Sharing]
    private let leftOutCount: Int
    private var people: [Person] = []
    private var leftOutPersonCount = 0

    init(_ all: [StoreReport.Sharing]) {
        shares = Array(all.prefix(Self.shareCount))
        leftOutCount = all.count - shares.count
        var positions: [String: Int] = [:]
        var leftOut: Set<String> = []
        for (index, sharing) in shares.enumerated() {
            for person in sharing.share.people where person.role != "owner" {
                if let position = positions[person.title] {
                    people[position].lines.append((index, person))
                } else if people.count < Self.personCount {
                    positions[person.title] = people.count
                    people.append(Person(title: person.title, lines: [(index, person)]))
                } else {
                    leftOut.insert(person.title)
                }
            }
        }
        leftOutPersonCount = leftOut.count
    }

    var figure: Markup {
        guard !people.isEmpty else { return "<p>No one but the owners takes part.</p>\n" }
        var note = "A full line means read and write, a dashed line read only, a dotted line no access; "
        note += "pale lines are invitations that are not yet accepted. The table shows the same."
        if leftOutCount > 0 { note += " … \(Quantities.count(leftOutCount, "more share")) in the table." }
        if leftOutPersonCount > 0 {
            note += " … \(Quantities.count(leftOutPersonCount, "more person", "more people")) in the table."
        }
        return """
            <figure>
            <div class="scroll" role="region" aria-label="Who shares what with whom, as a picture" tabindex="0">
            \(picture)
            </div>
            <figcaption class="soft">\(note)</figcaption>
            </figure>

            """
    }

    private var labelWidth: Int {
        TreeLayout.textWidth(String(repeating: "m", count: TreeLayout.labelColumns)) + 2 * TreeLayout.padding
    }

    private var picture: Markup {
        let boxWidth = labelWidth + TreeLayout.badgeWidth
        let (leftEnd, rightStart) = (boxWidth, boxWidth + 170)
        let width = rightStart + labelWidth
        let height = Self.top + max(shares.count, people.count) * TreeLayout.rowHeight
        let label =
            "\(Quantities.count(shares.count, "share")) and \(Quantities.count(people.count, "person", "people"))"
        var drawn: Markup = ""
        for (number, person) in people.enumerated() {
            let endY = y(number, of: people.count) + TreeLayout.boxHeight / 2
            for line in person.lines {
                let startY = y(line.share, of: shares.count) + TreeLayout.boxHeight / 2
                let middle = (leftEnd + rightStart) / 2
                let bend: Markup = "M\(leftEnd) \(startY)C\(middle) \(startY) \(middle) \(endY) \(rightStart) \(endY)"
                let style = line.person.rights.style + (line.person.hasAccepted ? "" : " invited")
                drawn += """
                    <g class="\(PictureShare.style(line.share))"><path class="\(style)" d="\(bend)">\
                    <title>\(person.title): \(line.person.rights.words), \(line.person.status)</title></path></g>

                    """
            }
        }
        for (index, sharing) in shares.enumerated() { drawn += box(sharing, index, width: boxWidth) }
        for (number, person) in people.enumerated() {
            drawn += box(person.title, x: rightStart, y: y(number, of: people.count), width: labelWidth)
        }
        return """
            <svg class="map" role="img" aria-label="\(label)" width="\(width)" height="\(height)" \
            viewBox="0 0 \(width) \(height)">
            <text class="soft" x="0" y="14">owner: what is shared</text>\
            <text class="soft" x="\(rightStart)" y="14">with whom</text>
            \(drawn)</svg>
            """
    }

    /// The shorter column is centred.
    private func y(_ row: Int, of count: Int) -> Int {
        let rest = max(shares.count, people.count) - count
        return Self.top + rest * TreeLayout.rowHeight / 2 + row * TreeLayout.rowHeight
    }

    private func box(_ sharing: StoreReport.Sharing, _ index: Int, width: Int) -> Markup {
        let top = y(index, of: shares.count)
        let what = sharing.share.rootLabel ?? "zone \(sharing.zone)"
        let badge = width - TreeLayout.badgeWidth
        return """
            <g class="\(PictureShare.style(index))">\(box("\(sharing.owner): \(what)", x: 0, y: top, width: width))\
            <rect class="mark" x="\(badge)" y="\(top)" width="\(TreeLayout.badgeWidth)" height="\(TreeLayout.boxHeight)" rx="4"/>\
            <text class="on" x="\(badge + TreeLayout.badgeWidth / 2)" y="\(top + 15)" text-anchor="middle">\
            \(PictureShare.badge(index))</text></g>

            """
    }

    private func box(_ text: String, x: Int, y: Int, width: Int) -> Markup {
        """
        <g><title>\(text)</title>\
        <rect class="box" x="\(x)" y="\(y)" width="\(width)" height="\(TreeLayout.boxHeight)" rx="4"/>\
        <svg x="\(x + TreeLayout.padding)" y="\(y)" width="\(labelWidth - 2 * TreeLayout.padding)" height="20">\
        <text y="15">\(DisplayText.fitting(text, columns: TreeLayout.labelColumns))</text></svg></g>

        """
    }
}
