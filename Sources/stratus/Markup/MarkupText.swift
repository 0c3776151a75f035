// Text as it stands in HTML and in XML. One rule serves both: what one of them does not allow, the other does not need.

enum MarkupText {
    /// The text for between tags and for between double quotes. What there is no letter for is spelled out: control
    /// characters and noncharacters, of which parsers of HTML complain, and for one of which, escaped or not, no parser of
    /// XML 1.0 takes the file.
    static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            // Also ends what XML does not allow in text: "]]>".
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            case _ where isForbidden(scalar): escaped += DisplayText.spelled(scalar)
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    /// Line ends and tabs are letters of both, and attributes would turn them into spaces.
    private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) || DisplayText.isNoncharacter(scalar)
    }
}
