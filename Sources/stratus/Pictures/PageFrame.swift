// The frame of every page: one file that needs nothing else, asks for nothing and runs nothing.

import Crypto
import Foundation

enum PageFrame {
    /// A whole page. `heading` is its title, and stands above `body`.
    ///
    /// The policy lets in this one sheet of styles, by its hash, and nothing else: no script, no picture, no request, not
    /// even where something in the page slipped through.
    static func text(heading: String, body: HTML) -> String {
        let style = PageStyle.text
        let hash = Data(SHA256.hash(data: Data(style.markup.utf8))).base64EncodedString()
        let policy = "default-src 'none'; style-src 'sha256-\(hash)'; base-uri 'none'; form-action 'none'"
        let page: HTML = """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta http-equiv="Content-Security-Policy" content="\(policy)">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <meta name="referrer" content="no-referrer">
            <title>\(heading)</title>
            <style>\(style)</style>
            </head>
            <body>
            <main>
            <h1>\(name(heading))</h1>
            \(body)</main>
            </body>
            </html>

            """
        return page.markup
    }

    /// A name of the store's: its direction is its own business, and its spaces stay.
    static func name(_ text: String) -> HTML { "<bdi>\(text)</bdi>" }

    /// The badge of a share.
    static func badge(_ share: Int) -> HTML {
        "<span class=\"badge \(PictureShare.style(share))\">\(PictureShare.badge(share))</span>"
    }

    /// What somebody may do, in words and in a pill that is full, dashed or dotted.
    static func pill(_ rights: PicturePerson.Rights) -> HTML {
        let style =
            switch rights {
            case .readWrite: "full"
            case .readOnly: "half"
            case .nothing: "none"
            }
        return "<span class=\"pill \(style)\">\(rights.text)</span>"
    }

    /// A table that scrolls by itself where it is wider than the page, with the keyboard too.
    static func table(caption: String, head: [String], numbers: Set<Int> = [], rows: HTML) -> HTML {
        var columns: HTML = ""
        for (index, title) in head.enumerated() {
            let style: HTML = numbers.contains(index) ? " class=\"number\"" : ""
            columns += "<th scope=\"col\"\(style)>\(title)</th>"
        }
        return """
            <div class="scroll" role="region" aria-label="\(caption)" tabindex="0">
            <table>
            <caption>\(caption)</caption>
            <thead><tr>\(columns)</tr></thead>
            <tbody>
            \(rows)</tbody>
            </table>
            </div>

            """
    }

    /// Who takes part in which share.
    static func shareTable(_ shares: [PictureShare], moreCount: Int) -> HTML {
        guard !shares.isEmpty else { return "<p>Nothing here is shared.</p>\n" }
        var rows: HTML = ""
        for (index, share) in shares.enumerated() {
            let root: HTML = share.rootLabel.map { name($0) } ?? "the whole zone"
            let lineCount = max(1, share.people.count + (share.morePeopleCount > 0 ? 1 : 0))
            let head: HTML = """
                <th class="name" scope="rowgroup" rowspan="\(lineCount)">\(badge(index)) \(name(share.name))</th>\
                <td class="name" rowspan="\(lineCount)">\(root)</td><td rowspan="\(lineCount)">\(share.publicPermission)</td>
                """
            var lines = share.people.map { person -> HTML in
                "<td class=\"name\">\(name(person.title))</td><td>\(person.role)</td><td>\(pill(person.rights))</td>"
                    + "<td>\(person.status)</td>"
            }
            if share.morePeopleCount > 0 || lines.isEmpty {
                lines.append(
                    "<td colspan=\"4\">… \(Quantities.count(share.morePeopleCount, "more person", "more people"))</td>")
            }
            for (number, line) in lines.enumerated() { rows += "<tr>\(number == 0 ? head : "")\(line)</tr>\n" }
        }
        let caption = "Shares and those who take part in them"
        let table = table(
            caption: caption, head: ["Share", "Root", "Whoever has its URL", "Who", "As", "May", "Status"], rows: rows)
        guard moreCount > 0 else { return table }
        let more = Quantities.count(moreCount, "more share")
        return "\(table)<p>… \(more): <code>stratus share list</code> names all.</p>\n"
    }
}

extension HTML {
    static func + (left: HTML, right: HTML) -> HTML { "\(left)\(right)" }
}
