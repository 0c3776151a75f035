// The faults that `make mutants` plants, as `Tests/Mutants/*.txt` define them. The tidy tests and the runner
// (`Tests/Mutants/main.swift`, which is compiled with this file) read them by the same code.
//
// A definition is a block of lines, blank lines separate blocks, and lines that begin with '#' are comments:
//
//   17 A sentence that says what is wrong for the user.
//   file Sources/StratusCloud/Feeds/FeedPage.swift
//   test SharedFeedTests/severalRounds, OtherTests
//   - the lines in the file, exactly once; the first and the last one may be parts of lines
//   + the lines that replace them, in which mutant(17) says whether the fault is on

import Foundation

struct PlantedFault: Sendable {
    /// The switch in the text that replaces the snippet.
    static func isSwitch(_ number: Int) -> String { "mutant(\(number))" }

    let number: Int
    let sentence: String
    /// The place of the definition.
    let place: Finding
    var file = ""
    /// Suites, or `Suite/function`: at least one of them must fail.
    var tests: [String] = []
    var snippet: [Substring] = []
    var replacement: [Substring] = []

    var original: String { snippet.joined(separator: "\n") }
    var mutated: String { replacement.joined(separator: "\n") }

    /// Reads the definitions of one file. A line that is none is a finding.
    static func definitions(in text: String, path: String) -> (faults: [PlantedFault], findings: [Finding]) {
        var faults: [PlantedFault] = []
        var findings: [Finding] = []
        var isInBlock = false
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let place = Finding(path, line: index + 1, "this line is no part of a definition: '\(line)'")
            if line.isEmpty || line.hasPrefix("#") {
                isInBlock = isInBlock && !line.isEmpty
            } else if !isInBlock {
                let words = line.split(separator: " ", maxSplits: 1)
                guard words.count == 2, let number = Int(words[0]) else {
                    findings.append(place)
                    continue
                }
                faults.append(PlantedFault(number: number, sentence: String(words[1]), place: place))
                isInBlock = true
            } else if !faults[faults.count - 1].read(line) {
                findings.append(place)
            }
        }
        return (faults, findings)
    }

    private mutating func read(_ line: Substring) -> Bool {
        let rest = line.dropFirst(2)
        if line.hasPrefix("- ") || line == "-" {
            snippet.append(rest)
        } else if line.hasPrefix("+ ") || line == "+" {
            replacement.append(rest)
        } else if line.hasPrefix("file "), file.isEmpty {
            file = String(line.dropFirst(5))
        } else if line.hasPrefix("test "), tests.isEmpty {
            tests = line.dropFirst(5).split(separator: ",").map { String($0.drop { $0 == " " }) }
        } else {
            return false
        }
        return true
    }

    /// The text of a source file with all of its faults planted, and the definitions that do not fit it.
    static func plant(_ faults: [PlantedFault], in text: String) -> (text: String, findings: [Finding]) {
        var findings: [Finding] = []
        var spots: [(range: Range<String.Index>, fault: PlantedFault)] = []
        for fault in faults {
            guard let range = text.range(of: fault.original, options: .literal) else {
                findings.append(fault.finding("the snippet is not in \(fault.file)"))
                continue
            }
            let rest = text.index(after: range.lowerBound)..<text.endIndex
            if text.range(of: fault.original, options: .literal, range: rest) == nil {
                spots.append((range, fault))
            } else {
                findings.append(fault.finding("the snippet is more than once in \(fault.file)"))
            }
        }
        spots.sort { $0.range.lowerBound < $1.range.lowerBound }
        var planted = ""
        var end = text.startIndex
        for spot in spots {
            guard spot.range.lowerBound >= end else {
                findings.append(spot.fault.finding("the snippet overlaps that of another fault"))
                continue
            }
            planted += text[end..<spot.range.lowerBound] + spot.fault.mutated
            end = spot.range.upperBound
        }
        return (planted + text[end...], findings)
    }

    func finding(_ message: String) -> Finding {
        Finding(place.path, line: place.line, "fault \(number): \(message)")
    }
}
