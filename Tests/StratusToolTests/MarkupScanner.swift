// Parses the tool's output strictly, without any code of the tool: elements must be closed in order, attributes quoted,
// and characters that XML forbids are errors.

/// A parsed page or picture.
struct MarkupScanner {
    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    private static let emptyElements: Set = ["!DOCTYPE", "meta"]
    private static let entities = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "#39": "'"]

    /// All text outside of tags and style sheets, with its entities read.
    private(set) var text = ""
    /// The names of the elements, in order.
    private(set) var elements: [String] = []
    /// The values of attributes, by element and attribute: "svg.width".
    private(set) var attributes: [String: [String]] = [:]

    init(_ markup: String) throws {
        if let bad = markup.unicodeScalars.first(where: Self.isForbidden) {
            throw Fault(description: "a character of number \(bad.value)")
        }
        var open: [String] = []
        var rest = Substring(markup)
        while !rest.isEmpty {
            guard rest.first == "<" else {
                let end = rest.firstIndex(of: "<") ?? rest.endIndex
                if open.last != "style" { text += try Self.decoded(rest[..<end]) }
                rest = rest[end...]
                continue
            }
            try readTag(&rest, &open)
        }
        guard open.isEmpty else { throw Fault(description: "still open: \(open)") }
    }

    private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
        let isControl = (scalar.value < 0x20 && scalar != "\n") || (0x7F...0x9F).contains(scalar.value)
        return isControl || scalar.value & 0xFFFE == 0xFFFE
    }

    private mutating func readTag(_ rest: inout Substring, _ open: inout [String]) throws {
        rest = rest.dropFirst()
        if rest.first == "/" {
            let name = String(rest.dropFirst().prefix { $0 != ">" })
            guard open.popLast() == name else { throw Fault(description: "\(name) is closed and was not open") }
            rest = rest.dropFirst(name.count + 2)
            return
        }
        let name = String(rest.prefix { $0.isLetter || $0.isNumber || $0 == "!" })
        guard !name.isEmpty else { throw Fault(description: "a tag without name before \(rest.prefix(20))") }
        rest = rest.dropFirst(name.count)
        elements.append(name)
        while true {
            rest = rest.drop { $0 == " " || $0 == "\n" }
            if rest.hasPrefix("/>") {
                rest = rest.dropFirst(2)
                return
            }
            if rest.first == ">" {
                rest = rest.dropFirst()
                if !Self.emptyElements.contains(name) { open.append(name) }
                return
            }
            try readAttribute(of: name, &rest)
        }
    }

    private mutating func readAttribute(of element: String, _ rest: inout Substring) throws {
        let name = String(rest.prefix { $0.isLetter || $0.isNumber || "-:".contains($0) })
        guard !name.isEmpty else { throw Fault(description: "no attribute before \(rest.prefix(20))") }
        rest = rest.dropFirst(name.count)
        guard rest.hasPrefix("=\"") else {
            guard ["open", "html"].contains(name) else { throw Fault(description: "\(name) has no value") }
            return
        }
        rest = rest.dropFirst(2)
        let value = rest.prefix { $0 != "\"" }
        attributes["\(element).\(name)", default: []].append(try Self.decoded(value))
        rest = rest.dropFirst(value.count + 1)
    }

    private static func decoded(_ text: Substring) throws -> String {
        guard !text.contains(">") else { throw Fault(description: "'>' in \(text.prefix(40))") }
        var decoded = ""
        var parts = text.split(separator: "&", omittingEmptySubsequences: false)[...]
        decoded += parts.removeFirst()
        for part in parts {
            let name = part.prefix { $0 != ";" }
            guard let meaning = entities[String(name)] else {
                throw Fault(description: "no entity: \(part.prefix(20))")
            }
            decoded += meaning + part.dropFirst(name.count + 1)
        }
        return decoded
    }
}

/// Reads DOT as Graphviz does: words, strings and punctuation.
struct DOTScanner {
    /// Every string, as a label shows it.
    private(set) var strings: [String] = []
    private(set) var words: [String] = []

    init(_ source: String) throws {
        var scalars = Array(source.unicodeScalars)[...]
        while let scalar = scalars.popFirst() {
            switch scalar {
            case "\"": strings.append(try Self.string(&scalars))
            case " ", "\n", ";", ",", "=", "[", "]", "{", "}", "-", ">": continue
            default:
                var word = String(scalar)
                while let next = scalars.first,
                    next.properties.isAlphabetic || ("0"..."9").contains(next) || next == "_"
                {
                    word.unicodeScalars.append(next)
                    scalars.removeFirst()
                }
                words.append(word)
            }
        }
    }

    private static func string(_ scalars: inout ArraySlice<Unicode.Scalar>) throws -> String {
        var text = ""
        while let scalar = scalars.popFirst() {
            switch scalar {
            case "\"": return text.replacing("&amp;", with: "&")
            case "\\":
                switch scalars.popFirst() {
                case "\\": text += "\\"
                case "\"": text += "\""
                case "l": text += "\n"
                case let other: throw MarkupScanner.Fault(description: "an escape: \(other.map { "\($0)" } ?? "end")")
                }
            default: text.unicodeScalars.append(scalar)
            }
        }
        throw MarkupScanner.Fault(description: "a string that does not end")
    }
}
