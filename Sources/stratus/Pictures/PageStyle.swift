// How pages look, on light and on dark paper, from the width of a telephone on.

enum PageStyle {
    static let text: HTML = """
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

    private static func colours(_ colours: [String]) -> HTML {
        HTML(colours.enumerated().map { index, colour -> HTML in "--c\(index):\(colour);" })
    }

    private static var badges: HTML {
        HTML((0..<PictureShare.colourCount).map { index -> HTML in ".badge.c\(index){background:var(--c\(index))}\n" })
    }

    private static var marks: HTML {
        HTML(
            (0..<PictureShare.colourCount).map { index -> HTML in
                ".map .c\(index) .mark{fill:var(--c\(index))}\n.map .c\(index) path{stroke:var(--c\(index))}\n"
            })
    }
}
