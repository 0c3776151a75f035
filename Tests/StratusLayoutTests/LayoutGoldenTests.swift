// The format as recorded text: a line of these files that changes is a change of the format on every disk there is.

import Foundation
import StratusLayout
import StratusModel
import StratusStore
import StratusTestSupport
import Testing

@Suite("the format on disk")
struct LayoutGoldenTests {
    @Test("the number of every keyspace, kind and action is the recorded one")
    func tags() {
        var lines: [String] = []
        lines += ZoneKeyspace.allCases.map { "zone keyspace \($0.rawValue) \($0)" }
        lines += DatabaseKeyspace.allCases.map { "database keyspace \($0.rawValue) \($0)" }
        lines += GlobalKeyspace.allCases.map { "global keyspace \($0.rawValue) \($0)" }
        lines += IdentityKind.allCases.map { "identity kind \($0.rawValue) \($0)" }
        lines += AccountStanding.allCases.map { "account standing \($0.rawValue) \($0)" }
        lines += RecordValueKind.allCases.map { "record value kind \($0.rawValue) \($0)" }
        lines += DatabaseChangeEntry.Kind.allCases.map { "database change kind \($0.rawValue) \($0)" }
        lines += ReferenceAction.allCases.map { "reference action \($0.rawValue) \($0)" }
        lines += DatabaseScope.allCases.map { "database scope \($0.rawValue) \($0)" }
        lines += ScalarType.allCases.map { "scalar type \($0.rawValue) \($0)" }
        lines.append("format version \(FormatEntry.currentVersion)")
        lines.append("chunk limit \(LayoutLimits.maximumChunkByteCount)")
        #expect(GoldenFile("tags.txt").difference(from: lines.joined(separator: "\n")) == nil)
    }

    @Test("the bytes and the line of every key are the recorded ones")
    func keys() {
        let lines = LayoutSamples.allKeys.map { "\(Hex.text($0)) = \(KeyDescription.text(of: $0))" }
        #expect(GoldenFile("keys.txt").difference(from: lines.joined(separator: "\n")) == nil)
    }

    @Test("the bytes and the line of every value are the recorded ones")
    func values() throws {
        let lines = try LayoutSamples.values().map { "\(Hex.text($0.key)) \(Hex.text($0.value)) = \(line(of: $0))" }
        #expect(GoldenFile("values.txt").difference(from: lines.joined(separator: "\n")) == nil)
    }

    @Test("every keyspace has a sample key")
    func samplesAreComplete() {
        let zoneKeyspaces = Set(LayoutSamples.zoneKeys.compactMap { LayoutSamples.zone.keyspace(of: $0.span) })
        #expect(zoneKeyspaces == Set(ZoneKeyspace.allCases))
        for keyspace in DatabaseKeyspace.allCases {
            let range = LayoutSamples.database.keyspace(keyspace)
            #expect(LayoutSamples.databaseKeys.contains { range.contains($0) })
        }
        for keyspace in GlobalKeyspace.allCases {
            let range = GlobalKeys.keyspace(keyspace)
            #expect(LayoutSamples.globalKeys.contains { range.contains($0) })
        }
    }

    @Test("every type of value has a sample, and is included in the checks of damaged bytes")
    func valuesAreComplete() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Sources/StratusLayout").standardizedFileURL
        let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
        var declared: Set<String> = []
        for case let file as URL in files where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            let types = text.matches(of: /(?:struct|enum) (\w+): (?:Layout|Versioned)Value\b/)
            declared.formUnion(types.map { String($0.1) })
        }
        #expect(declared.count >= 35)
        #expect(Set(LayoutChecks.valueTypes.map { "\($0)" }) == declared)
        let sampled = LayoutSamples.typedValues.map { "\(type(of: $0.value))" }
        let tokens = LayoutSamples.tokens.map { "\(type(of: $0))" }
        let subscriptions = LayoutSamples.subscriptionValues.map { "\(type(of: $0.value))" }
        #expect(
            Set(sampled + tokens + subscriptions).union(LayoutSamples.shareContents.map { "\(type(of: $0))" })
                == declared)
    }

    // These files are written once per format and never recorded again: they represent existing stores.
    @Test("values written by earlier formats decode to the same values", arguments: 1..<FormatEntry.currentVersion)
    func frozen(format: UInt64) throws {
        let path = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "Golden/frozen-format-\(format).txt")
        let lines = try String(contentsOf: path, encoding: .utf8).split(separator: "\n")
        #expect(lines.count > 20)
        for text in lines {
            let parts = text.split(separator: " ", maxSplits: 3)
            let key = try #require(Hex.bytes(parts[0]))
            let value = try #require(Hex.bytes(parts[1]))
            #expect(line(of: (key, value)) == String(parts[3]))
            #expect(!parts[3].contains("damaged"))
        }
    }

    private func line(of entry: (key: [UInt8], value: [UInt8])) -> String {
        ValueDescription.text(of: entry.value, forKey: entry.key)
    }
}
