// Separates the code of a Swift file from its comments and the contents of its strings, byte for byte.
//
// Invariant: `code`, `comments` and `codeAndStrings` have the length of the input; what does not belong to one of them
// is a space there, and line ends stay in all three. Code inside string interpolations counts as code.
// A slash begins a regular expression only after an opening or separating character, as the compiler's own rule has it.

struct SourceMask {
    private let bytes: [UInt8]
    private var position = 0
    private(set) var code: [UInt8]
    private(set) var comments: [UInt8]
    private(set) var codeAndStrings: [UInt8]

    init(_ text: String) {
        bytes = Array(text.utf8)
        code = bytes.map { $0 == .lineFeed ? $0 : .space }
        comments = code
        codeAndStrings = code
        scanCode(insideInterpolation: false)
    }

    private func byte(at offset: Int) -> UInt8 {
        let index = position + offset
        return index < bytes.count ? bytes[index] : 0
    }

    private func starts(_ text: StaticString) -> Bool {
        let wanted = Array("\(text)".utf8)
        return wanted.indices.allSatisfy { byte(at: $0) == wanted[$0] }
    }

    private mutating func takeCode() {
        code[position] = bytes[position]
        codeAndStrings[position] = bytes[position]
        position += 1
    }

    private mutating func takeComment() {
        comments[position] = bytes[position]
        position += 1
    }

    private mutating func takeString() {
        codeAndStrings[position] = bytes[position]
        position += 1
    }

    private mutating func scanCode(insideInterpolation: Bool) {
        var depth = 0
        while position < bytes.count {
            if starts("//") {
                while position < bytes.count, bytes[position] != .lineFeed { takeComment() }
            } else if starts("/*") {
                scanBlockComment()
            } else if let fenceCount = fenceCountOfString() {
                scanString(fenceCount: fenceCount)
            } else if isRegularExpression() {
                scanRegularExpression()
            } else {
                if byte(at: 0) == .openParenthesis { depth += 1 }
                if byte(at: 0) == .closeParenthesis {
                    depth -= 1
                    if insideInterpolation, depth < 0 { return }
                }
                takeCode()
            }
        }
    }

    private mutating func scanBlockComment() {
        var depth = 0
        repeat {
            if starts("/*") {
                depth += 1
                takeComment()
            } else if starts("*/") {
                depth -= 1
                takeComment()
            }
            if position < bytes.count { takeComment() }
        } while depth > 0 && position < bytes.count
    }

    /// The number of `#` before the quote when a string begins here, else nil.
    private func fenceCountOfString() -> Int? {
        var count = 0
        while byte(at: count) == .numberSign { count += 1 }
        return byte(at: count) == .quote ? count : nil
    }

    private mutating func scanString(fenceCount: Int) {
        for _ in 0..<fenceCount { takeCode() }
        let isMultiline = starts("\"\"\"")
        let quoteCount = isMultiline ? 3 : 1
        for _ in 0..<quoteCount { takeCode() }
        while position < bytes.count {
            if isClosing(quoteCount: quoteCount, fenceCount: fenceCount) {
                for _ in 0..<(quoteCount + fenceCount) { takeCode() }
                return
            }
            if !isMultiline, byte(at: 0) == .lineFeed { return }
            guard isEscape(fenceCount: fenceCount) else {
                takeString()
                continue
            }
            for _ in 0...fenceCount { takeString() }
            guard position < bytes.count else { return }
            if byte(at: 0) == .openParenthesis {
                takeString()
                scanCode(insideInterpolation: true)
            }
            if position < bytes.count { takeString() }
        }
    }

    private func isClosing(quoteCount: Int, fenceCount: Int) -> Bool {
        (0..<quoteCount).allSatisfy { byte(at: $0) == .quote }
            && (0..<fenceCount).allSatisfy { byte(at: quoteCount + $0) == .numberSign }
    }

    private func isEscape(fenceCount: Int) -> Bool {
        byte(at: 0) == .backslash && (0..<fenceCount).allSatisfy { byte(at: 1 + $0) == .numberSign }
    }

    private func isRegularExpression() -> Bool {
        guard byte(at: 0) == .slash, byte(at: 1) != .space, byte(at: 1) != .lineFeed else { return false }
        guard let before = code[..<position].last(where: { $0 != .space }) else { return false }
        guard Array("(,=:[{&|!#".utf8).contains(before) else { return false }
        var offset = 1
        while byte(at: offset) != 0, byte(at: offset) != .lineFeed {
            if byte(at: offset) == .slash { return true }
            offset += byte(at: offset) == .backslash ? 2 : 1
        }
        return false
    }

    private mutating func scanRegularExpression() {
        takeCode()
        while position < bytes.count, bytes[position] != .slash {
            if bytes[position] == .backslash { takeString() }
            if position < bytes.count { takeString() }
        }
        if position < bytes.count { takeCode() }
    }
}

extension UInt8 {
    fileprivate static let lineFeed = UInt8(ascii: "\n")
    fileprivate static let space = UInt8(ascii: " ")
    fileprivate static let slash = UInt8(ascii: "/")
    fileprivate static let quote = UInt8(ascii: "\"")
    fileprivate static let backslash = UInt8(ascii: "\\")
    fileprivate static let numberSign = UInt8(ascii: "#")
    fileprivate static let openParenthesis = UInt8(ascii: "(")
    fileprivate static let closeParenthesis = UInt8(ascii: ")")
}
