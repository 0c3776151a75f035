// Values that Foundation on Linux treats as the same object: each round-trips through an archive.

import Foundation
import StratusKit
import StratusTestSupport
import Testing

@Suite struct EqualObjectTests {
    /// One text in two normalisations.
    private let texts = ["\u{E9}", "e\u{301}"]

    private func archived(_ record: CKRecord, _ way: ArchivingTests.Way) throws -> CKRecord {
        try way.decode(CKRecord.self, from: ArchiveSamples.archive(record))
    }

    private static func scalars(_ text: String?) -> [Unicode.Scalar] { (text ?? "").unicodeScalars.map { $0 } }

    @Test(
        "[C-06] integers and floating-point numbers of equal value keep their type",
        arguments: ArchivingTests.Way.allCases)
    func numbers(way: ArchivingTests.Way) throws {
        // The order of a dictionary decides which of two equal objects represents both: many pairs leave no chance.
        let record = CKRecord(recordType: "Note")
        for index in 0..<50 {
            record["integer\(index)"] = index
            record["number\(index)"] = Double(index)
            record["integers\(index)"] = [index, index + 1]
            record["numbers\(index)"] = [Double(index), Double(index) + 1]
        }
        record["large"] = 9_007_199_254_740_993
        record["rounded"] = 9_007_199_254_740_992.0
        record["minus"] = -0.0
        let decoded = try archived(record, way)
        for index in 0..<50 {
            #expect((decoded["integer\(index)"] as? NSNumber)?.stringValue == "\(index)")
            #expect((decoded["number\(index)"] as? NSNumber)?.stringValue == "\(index).0")
            let integers = decoded["integers\(index)"] as? [NSNumber]
            #expect(integers?.map(\.stringValue) == ["\(index)", "\(index + 1)"])
            let numbers = decoded["numbers\(index)"] as? [NSNumber]
            #expect(numbers?.map(\.stringValue) == ["\(index).0", "\(index + 1).0"])
        }
        #expect(decoded["large"] as? Int == 9_007_199_254_740_993)
        #expect((decoded["rounded"] as? NSNumber)?.doubleValue == 9_007_199_254_740_992)
        #expect((decoded["minus"] as? NSNumber)?.doubleValue.sign == .minus)
    }

    @Test(
        "[C-06] texts that differ only in normalisation stay different",
        arguments: ArchivingTests.Way.allCases)
    func normalisations(way: ArchivingTests.Way) throws {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: texts[0]))
        for index in 0..<50 {
            record["composed\(index)"] = "\(index)\(texts[0])"
            record["decomposed\(index)"] = "\(index)\(texts[1])"
        }
        record["both"] = texts
        record["reference"] = CKRecord.Reference(recordID: CKRecord.ID(recordName: texts[1]), action: .none)
        record.setParent(CKRecord.ID(recordName: texts[1]))
        let decoded = try archived(record, way)
        for index in 0..<50 {
            let composed = Self.scalars(decoded["composed\(index)"] as? String)
            #expect(composed == Self.scalars("\(index)\(texts[0])"))
            let decomposed = Self.scalars(decoded["decomposed\(index)"] as? String)
            #expect(decomposed == Self.scalars("\(index)\(texts[1])"))
        }
        #expect((decoded["both"] as? [String])?.map { Self.scalars($0) } == texts.map { Self.scalars($0) })
        #expect(Self.scalars(decoded.recordID.recordName) == Self.scalars(texts[0]))
        #expect(Self.scalars(decoded.parent?.recordID.recordName) == Self.scalars(texts[1]))
        let reference = decoded["reference"] as? CKRecord.Reference
        #expect(Self.scalars(reference?.recordID.recordName) == Self.scalars(texts[1]))
    }

    @Test("identifiers that differ only in normalisation can be in one archive")
    func identifiers() throws {
        let recordIDs = (0..<200).flatMap { index in
            texts.map { CKRecord.ID(recordName: "\(index)\($0)", zoneID: CKRecordZone.ID(zoneName: $0)) }
        }
        let data = try ArchiveSamples.archive(recordIDs as NSArray)
        let decoded = try StratusArchive.decodeArray(of: CKRecord.ID.self, from: data)
        #expect(decoded == recordIDs)
    }

    @Test("a damaged block of values is refused, and never traps")
    func damagedBlocks() async throws {
        let archive = [UInt8](try ArchiveSamples.archive(ArchiveSamples.record()))
        let bytes = Data(archive)
        let version = try #require(bytes.range(of: Data([1, 0, 0, 0, 5] + "asset".utf8)))
        let caseCount = CaseCount.of(4_000, full: 20_000)
        let random = SplitMix64.announced("damaged blocks of values")
        let refused = try await TestThreads.offPool {
            var refused = 0
            for index in 0..<caseCount {
                var generator = random.generator(forCase: index)
                var changed = archive
                for _ in 0..<1 + generator.below(3) {
                    let place = version.lowerBound + generator.below(300)
                    changed[place] = UInt8(generator.below(256))
                }
                let record = try? StratusArchive.decode(CKRecord.self, from: Data(changed))
                if record == nil { refused += 1 }
                _ = record?.description
            }
            return refused
        }
        #expect((caseCount / 20..<caseCount).contains(refused), "\(refused) refused")
    }
}
