// The frame, the style and the colours of pages: one file without scripts and requests.

import Foundation
import StratusCloud
import StratusModel

enum PageFrame {
    /// A whole page with a title above `body`.
    ///
    /// The policy allows only this style sheet, by its hash: no script, image or request, even if escaping had a
    /// mistake.
    static func text(heading: String, body: Markup) -> String {
        let style = PageStyle.text
        let hash = Data(ContentDigest.sha256(Data(style.markup.utf8))).base64EncodedString()
        let policy = "default-src 'none'; style-src 'sha256-\(hash)'; base-uri 'none'; form-action 'none'"
        let page: Markup = """
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

    /// A name from the store, with its own text direction and with its spaces.
    static func name(_ text: String) -> Markup { "<bdi>\(text)</bdi>" }

    /// The badge of a share.
    static func badge(_ share: Int) -> Markup {
        "<span class=\"badge \(PictureShare.style(share))\">\(PictureShare.badge(share))</span>"
    }

    /// The rights of a person as a full, dashed or dotted pill with words in it.
    static func pill(_ rights: ParticipantPermission) -> Markup {
        "<span class=\"pill \(rights.style)\">\(rights.words)</span>"
    }

    /// A table that scrolls if it is wider than the page, also with the keyboard.
    static func table(caption: String, head: [String], numbers: Set<Int> = [], rows: Markup) -> Markup {
        let columns = Markup(head.enumerated()) { index, title in
            let style: Markup = numbers.contains(index) ? " class=\"number\"" : ""
            return "<th scope=\"col\"\(style)>\(title)</th>"
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

    /// The shares with their participants.
    static func shareTable(_ shares: [PictureShare], moreCount: Int) -> Markup {
        guard !shares.isEmpty else { return "<p>Nothing here is shared.</p>\n" }
        var rows: Markup = ""
        for (index, share) in shares.enumerated() {
            let root: Markup = share.rootLabel.map { name($0) } ?? "the whole zone"
            let lineCount = max(1, share.people.count + (share.morePeopleCount > 0 ? 1 : 0))
            let head: Markup = """
                <th class="name" scope="rowgroup" rowspan="\(lineCount)">\(badge(index)) \(name(share.name))</th>\
                <td class="name" rowspan="\(lineCount)">\(root)</td><td rowspan="\(lineCount)">\(share.publicPermission)</td>
                """
            var lines = share.people.map { person -> Markup in
                "<td class=\"name\">\(name(person.title))</td><td>\(person.role)</td><td>\(pill(person.rights))</td>"
                    + "<td>\(person.status)</td>"
            }
            if share.morePeopleCount > 0 || lines.isEmpty {
                lines.append("<td colspan=\"4\">\(share.morePeopleText)</td>")
            }
            for (number, line) in lines.enumerated() { rows += "<tr>\(number == 0 ? head : "")\(line)</tr>\n" }
        }
        let caption = "Shares and their participants"
        let table = table(
            caption: caption, head: ["Share", "Root", "Anyone with its URL", "Person", "Role", "May", "Status"],
            rows: rows)
        guard moreCount > 0 else { return table }
        let more = Quantities.count(moreCount, "more share")
        return "\(table)<p>… \(more): <code>stratus share list</code> lists all.</p>\n"
    }
}

/// The style sheet of pages, for light and dark mode, from the width of a telephone.
enum PageStyle {
    static let text: Markup = """
        :root{color-scheme:light dark;--ink:#1b2430;--paper:#ffffff;--soft:#566173;--line:#c9d0da;--panel:#f4f6f8;\
        --bar:#0b5cad;--bar2:#a83f0c;--good:#0b6b4c;--bad:#a3201c;--on:#ffffff;\(colours(PictureColours.light))}
        @media (prefers-color-scheme:dark){:root{--ink:#e6eaf0;--paper:#12161c;--soft:#a9b4c4;--line:#3b4553;\
        --panel:#1d232c;--bar:#7ab8ff;--bar2:#ffab7a;--good:#6fd6a8;--bad:#ff9d94;--on:#0d1117;\
        \(colours(PictureColours.dark))}}
        *{box-sizing:border-box}
        body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,"DejaVu Sans",sans-serif}
        main{max-width:72rem;margin:0 auto;padding:1rem 1rem 3rem}
        h1{font-size:1.5rem;line-height:1.25;overflow-wrap:anywhere;margin:.5rem 0}
        h2{font-size:1.2rem;margin:2.2rem 0 .5rem;padding-top:.6rem;border-top:1px solid var(--line)}
        p{margin:.5rem 0;max-width:48rem}
        bdi{white-space:pre-wrap;overflow-wrap:anywhere}
        code{font:.9em ui-monospace,"DejaVu Sans Mono",monospace;background:var(--panel);padding:.1em .3em;\
        border-radius:.25em;overflow-wrap:anywhere}
        .soft{color:var(--soft)}
        .good{color:var(--good);font-weight:bold}
        .bad{color:var(--bad);font-weight:bold}
        .scroll{overflow-x:auto;max-width:100%;margin:.5rem 0}
        :focus-visible{outline:3px solid var(--bar);outline-offset:2px}
        table{border-collapse:collapse;font-size:.92rem}
        caption{text-align:left;color:var(--soft);padding:.2rem 0;min-width:16rem}
        th,td{text-align:left;vertical-align:top;padding:.25rem .7rem;border-bottom:1px solid var(--line);max-width:26rem}
        thead th{background:var(--panel);white-space:nowrap}
        td,tbody th{min-width:5rem}
        tbody th{font-weight:600}
        td.name,th.name{min-width:12rem}
        .number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
        td.bar{width:40%;min-width:9rem;vertical-align:middle}
        td.bar svg{display:block}
        .badge,.pill{display:inline-block;white-space:nowrap;font-size:.8rem;line-height:1.4;border-radius:.3rem;\
        padding:0 .45rem}
        .badge{color:var(--on);font-weight:bold}
        .pill{border:1px solid currentColor;border-radius:1rem}
        .pill.full{background:var(--ink);color:var(--paper)}
        .pill.half{border-style:dashed}
        .pill.none{border-style:dotted}
        \(badges)
        dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.6rem;margin:1rem 0;padding:0}
        dl div{background:var(--panel);border-radius:.4rem;padding:.5rem .8rem}
        dt{color:var(--soft);font-size:.85rem}
        dd{margin:0;font-size:1.25rem;font-variant-numeric:tabular-nums}
        .tree,.tree ul{list-style:none;margin:0;padding:0}
        .tree ul{margin-left:.55rem;padding-left:.9rem;border-left:1px solid var(--line)}
        .tree li{margin:.1rem 0}
        summary{cursor:pointer;padding:.1rem .2rem}
        .leaf,.more{display:block;padding:.1rem .2rem .1rem 1.25rem}
        .more{color:var(--soft)}
        .root{font-weight:bold}
        figure{margin:.5rem 0}
        .axis{display:flex;justify-content:space-between;gap:1rem;color:var(--soft);font-size:.85rem}
        .fill{fill:var(--bar)}
        .fill2{fill:var(--bar2)}
        .base{stroke:var(--line);stroke-width:1}
        .map text{fill:var(--ink);font:13px ui-monospace,"DejaVu Sans Mono",monospace;white-space:pre}
        .map .soft{fill:var(--soft)}
        .map .on{fill:var(--on);font-weight:bold}
        .map .box{fill:var(--panel);stroke:var(--line)}
        .map path{fill:none;stroke-width:2.5}
        .map .half{stroke-dasharray:7 4}
        .map .none{stroke-dasharray:2 4}
        .map .invited{stroke-opacity:.55}
        \(marks)
        """

    private static func colours(_ colours: [String]) -> Markup {
        Markup(colours.enumerated()) { index, colour in "--c\(index):\(colour);" }
    }

    private static var badges: Markup {
        Markup(0..<PictureShare.colourCount) { index in ".badge.c\(index){background:var(--c\(index))}\n" }
    }

    private static var marks: Markup {
        Markup(0..<PictureShare.colourCount) { index in
            ".map .c\(index) .mark{fill:var(--c\(index))}\n.map .c\(index) path{stroke:var(--c\(index))}\n"
        }
    }
}

/// The colours of pictures in light and dark mode. Everything with a colour has a label too.
enum PictureColours {
    /// The colours of shares in light mode: dark enough for white letters, and distinct for most colour-blind people.
    static let light = ["#0b5cad", "#a83f0c", "#0b6b4c", "#8a2f78", "#745400", "#45536b"]
    /// The colours of shares in dark mode, light enough for black letters.
    static let dark = ["#7ab8ff", "#ffab7a", "#6fd6a8", "#eaa3da", "#e3c15c", "#b4c3da"]
    /// The fill of a share's records, in light and dark mode.
    static let lightTints = ["#e8f2fc", "#fdeee6", "#e6f5ef", "#f8eaf5", "#f8f1dc", "#eceff4"]
    static let darkTints = ["#14283d", "#3a2114", "#10302a", "#35202f", "#332a10", "#262d38"]

    static let font = "ui-monospace, 'DejaVu Sans Mono', 'Liberation Mono', Menlo, Consolas, monospace"

    /// The style sheet of SVG files.
    static let svgStyle: Markup = """
        text{fill:#1b2430;white-space:pre}
        .paper{fill:#ffffff}
        .soft{fill:#566173}
        .head{font-size:15px;font-weight:bold}
        .link{fill:none;stroke:#8b95a5;stroke-width:1.2}
        .box{fill:#f6f7f9;stroke:#8b95a5}
        .root{stroke-width:2.5}
        .fold{fill:none;stroke:#8b95a5;stroke-dasharray:4 3}
        .half{fill:none;stroke-dasharray:5 3}
        .none{fill:none;stroke-dasharray:1 3}
        .on{fill:#ffffff;font-weight:bold}
        \(rules(light, lightTints))
        @media (prefers-color-scheme:dark){
        text{fill:#e6eaf0}
        .paper{fill:#12161c}
        .soft{fill:#a9b4c4}
        .link{stroke:#6c7788}
        .box{fill:#1d232c;stroke:#6c7788}
        .fold{stroke:#6c7788}
        .on{fill:#0d1117}
        \(rules(dark, darkTints))
        }
        """

    private static func rules(_ colours: [String], _ tints: [String]) -> Markup {
        Markup(colours.indices) { index in
            """
            .c\(index) .box{fill:\(tints[index]);stroke:\(colours[index])}
            .c\(index) .mark{fill:\(colours[index])}
            .c\(index) .pill{stroke:\(colours[index])}
            .c\(index) .full{fill:\(colours[index])}

            """
        }
    }
}
