// The colours of pictures, on light and on dark paper. Whatever has a colour has a label too.

enum PictureColours {
    /// Of shares, by their class of style: dark enough for white letters, and told apart by most who see few colours.
    static let light = ["#0b5cad", "#a83f0c", "#0b6b4c", "#8a2f78", "#745400", "#45536b"]
    /// The same on dark paper, light enough for black letters.
    static let dark = ["#7ab8ff", "#ffab7a", "#6fd6a8", "#eaa3da", "#e3c15c", "#b4c3da"]
    /// What fills the records of a share, on light and on dark paper.
    static let lightTints = ["#e8f2fc", "#fdeee6", "#e6f5ef", "#f8eaf5", "#f8f1dc", "#eceff4"]
    static let darkTints = ["#14283d", "#3a2114", "#10302a", "#35202f", "#332a10", "#262d38"]

    static let font = "ui-monospace, 'DejaVu Sans Mono', 'Liberation Mono', Menlo, Consolas, monospace"

    /// Styles of pictures that are files of their own.
    static let svgStyle: SVG = """
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

    private static func rules(_ colours: [String], _ tints: [String]) -> SVG {
        var rules: SVG = ""
        for index in colours.indices {
            let (colour, tint) = (colours[index], tints[index])
            rules += """
                .c\(index) .box{fill:\(tint);stroke:\(colour)}
                .c\(index) .mark{fill:\(colour)}
                .c\(index) .pill{stroke:\(colour)}
                .c\(index) .full{fill:\(colour)}

                """
        }
        return rules
    }
}
