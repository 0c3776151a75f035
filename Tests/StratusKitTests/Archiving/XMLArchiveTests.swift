// Archives in XML: the output of an archiver with that format.

import Foundation
import StratusKit
import StratusTestSupport
import Testing

@Suite("archives in XML") struct XMLArchiveTests {
    private static func archive(_ object: some NSObject & NSSecureCoding) -> Data {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        archiver.outputFormat = .xml
        archiver.encode(object, forKey: NSKeyedArchiveRootObjectKey)
        archiver.finishEncoding()
        return archiver.encodedData
    }

    /// The record with characters that XML has other names for.
    private static func record() -> CKRecord {
        let record = ArchiveSamples.record()
        record["mark"] = "<&>'\" 😀"
        return record
    }

    private func code(of text: String) -> StratusArchiveError.Code? {
        do throws(StratusArchiveError) {
            _ = try StratusArchive.decode(CKRecord.ID.self, from: Data(text.utf8))
            return nil
        } catch {
            return error.code
        }
    }

    @Test("[C-06] an archive in XML keeps the values and the changes", arguments: ArchivingTests.Way.allCases)
    func values(way: ArchivingTests.Way) throws {
        let record = Self.record()
        let decoded = try way.decode(CKRecord.self, from: Self.archive(record))
        #expect(decoded.recordID == record.recordID)
        #expect(decoded.parent == record.parent)
        #expect(decoded.allKeys() == record.allKeys())
        #expect(decoded.changedKeys() == record.changedKeys())
        #expect(decoded["mark"] as? String == "<&>'\" 😀")
        #expect(decoded["double"] as? Double == 2.5)
    }

    @Test("a location round-trips through XML to the last bit", arguments: ArchivingTests.Way.allCases)
    func numbers(way: ArchivingTests.Way) throws {
        let place = CLLocation(latitude: 52.123456789012345, longitude: -1.0 / 3)
        #expect(try way.decode(CLLocation.self, from: Self.archive(place)) == place)
    }

    @Test("equal objects give equal bytes in XML")
    func equalBytes() {
        let record = Self.record()
        let copy = record.copy() as? CKRecord
        #expect(copy.map { Self.archive($0) } == Self.archive(record))
    }

    private static func list(_ content: String, objects: String = "<string>$null</string>") -> String {
        """
        <?xml version="1.0" encoding="UTF-8"?><!-- by hand --><plist version="1.0"><dict><key>$archiver</key>\
        <string>NSKeyedArchiver</string><key>$top</key><dict><key>root</key>\(content)</dict><key>$objects</key>\
        <array>\(objects)</array></dict></plist>
        """
    }

    private static let root = "<dict><key>CF$UID</key><integer>0</integer></dict>"

    @Test("data that is not a property list, or a damaged one, is refused")
    func damaged() {
        #expect(code(of: Self.list(Self.root)) == .wrongClass)
        #expect(code(of: "<plist/>") == .notAnArchive)
        #expect(code(of: "<html></html>") == .notAnArchive)
        let contents = [
            "<integer>x</integer>", "<real></real>", "<data>!</data>", "<date>2001-01-01T00:00:00Z</date>",
            "<string>&unknown;</string>", "<string>&#xD800;</string>", "<string>a</key>", "<dict><key>a</key></dict>",
            "<array>", "<string x=\"1\">a</string>", "</dict>", "<dict><key>a</key><true/><key>a</key><true/></dict>",
        ]
        for content in contents { #expect(code(of: Self.list(content)) == .damaged, "\(content)") }
        #expect(code(of: Self.list(Self.root) + "x") == .damaged)
    }

    @Test("a document type with entities and deep nesting are refused quickly")
    func bombs() {
        let entities = "<!DOCTYPE plist [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;&a;\">]>"
        #expect(code(of: entities + Self.list(Self.root)) == .damaged)
        let nest = String(repeating: "<array>", count: 100_000)
        #expect(code(of: Self.list(nest)) == .damaged)
    }

    @Test("damaged archives in XML are refused or decode, and none traps")
    func mutations() async throws {
        let corpus = [Self.archive(Self.record()), Self.archive(ArchiveSamples.recordID)].map { [UInt8]($0) }
        let caseCount = CaseCount.of(1_500, full: 20_000)
        let random = SplitMix64.announced("damaged archives in XML")
        let mutator = ByteMutator(
            corpus: corpus, dictionary: ["<dict>", "</key>", "<!--", "&#x"].map { Array($0.utf8) })
        // This takes too long for the threads that all tests share.
        let decoded = try await TestThreads.offPool {
            (0..<caseCount).count { index in
                var generator = random.generator(forCase: index)
                let input = Data(mutator.input(&generator))
                return (try? StratusArchive.decode(CKRecord.self, from: input)) != nil
            }
        }
        #expect((caseCount / 100..<caseCount * 99 / 100).contains(decoded), "\(decoded) decoded")
    }
}
