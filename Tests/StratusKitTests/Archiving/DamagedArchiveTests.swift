// Damaged and random archives: each is refused or decodes, and none crashes.

import Foundation
import StratusTestSupport
import Testing

@testable import StratusKit

@Suite struct DamagedArchiveTests {
    /// Two parts, which run at the same time.
    private static let partCount = 2
    private static let caseCount = CaseCount.of(3_000, full: 50_000)

    /// Archives of every kind, to be damaged.
    private static func corpus() throws -> [[UInt8]] {
        var archives = [
            try ArchiveSamples.archive(ArchiveSamples.record()),
            ArchiveSamples.systemFields(of: ArchiveSamples.record()),
            try ArchiveSamples.archive(ArchiveSamples.recordID),
            try ArchiveSamples.archive(CKRecordZone(zoneName: "z")),
            try ArchiveSamples.archive(CKUserIdentity.LookupInfo(userRecordID: ArchiveSamples.recordID)),
            AppleArchive.systemFields, AppleArchive.recordID,
            try StratusArchive.data(of: ArchiveSamples.record()),
        ]
        archives += try RealArchive.allCases.map { try $0.data }
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "a = %@ AND b IN {1, %d}", "ä", 2))
        query.sortDescriptors = [
            NSSortDescriptor(key: "a", ascending: false),
            CKLocationSortDescriptor(key: "p", relativeLocation: CLLocation(latitude: 1, longitude: 2)),
        ]
        archives.append(try ArchiveSamples.archive(query))
        archives.append(try ArchiveSamples.archive(person()))
        archives.append(try ArchiveSamples.archive(group()))
        archives.append(try ArchiveSamples.archive([ArchiveSamples.zoneID, CKRecordZone.ID.default] as NSArray))
        return archives.map { [UInt8]($0) }
    }

    /// A person with every property.
    private static func person() -> CKUserIdentity {
        var name = PersonNameComponents()
        (name.givenName, name.familyName) = ("Zo\u{EB}", "Zoe\u{308}")
        return CKUserIdentity(
            userRecordID: ArchiveSamples.recordID, lookupInfo: CKUserIdentity.LookupInfo(emailAddress: "a@example.com"),
            nameComponents: name, hasiCloudAccount: true)
    }

    /// A group with every property set.
    private static func group() -> CKOperationGroup {
        let group = CKOperationGroup()
        group.name = "import"
        group.quantity = 12
        group.expectedSendSize = .megabytes
        group.expectedReceiveSize = .kilobytes
        group.defaultConfiguration.container = CKContainer(identifier: "iCloud.com.example.app")
        group.defaultConfiguration.qualityOfService = .utility
        group.defaultConfiguration.allowsCellularAccess = false
        group.defaultConfiguration.isLongLived = true
        group.defaultConfiguration.timeoutIntervalForRequest = 5
        group.defaultConfiguration.timeoutIntervalForResource = 2.5
        return group
    }

    /// Decodes an archive, and uses the result. An archive of another class is decoded completely before its class is
    /// rejected.
    private static func decodes(_ bytes: [UInt8]) -> Bool {
        do throws(StratusArchiveError) {
            let record = try StratusArchive.decode(CKRecord.self, from: Data(bytes))
            _ = record.allTokens()
            _ = record.description
            return record.allSatisfy { !$0.0.isEmpty }
        } catch {
            return error.code == .wrongClass && error.fields["found"] != "nothing"
        }
    }

    @Test("damaged archives are refused or decode, and none traps", arguments: 0..<partCount)
    func mutations(part: Int) async throws {
        let random = SplitMix64.announced("damaged archives \(part)")
        // This takes too long for the threads that all tests share.
        let decoded = try await TestThreads.offPool { try Self.decodedCount(part, random) }
        // Neither all nor none: the mutations reach both sides.
        #expect((Self.caseCount / 100..<Self.caseCount * 99 / 100).contains(decoded), "\(decoded) decoded")
    }

    private static func decodedCount(_ part: Int, _ random: SplitMix64) throws -> Int {
        let corpus = try Self.corpus()
        let allDecode = corpus.allSatisfy { Self.decodes($0) }
        try #require(allDecode)
        let mutator = ByteMutator(corpus: corpus, dictionary: [Array("NSArray".utf8), Array("$class".utf8)])
        var decoded = 0
        for index in 0..<Self.caseCount {
            var generator = random.generator(forCase: part * Self.caseCount + index)
            // A change of length damages every later offset, so half of the inputs keep theirs.
            let input =
                generator.isOne(in: 2)
                ? mutator.input(&generator) : Self.withBytesChanged(generator.element(of: corpus), &generator)
            if Self.decodes(input) { decoded += 1 }
        }
        return decoded
    }

    private static func withBytesChanged(_ input: [UInt8], _ random: inout SplitMix64) -> [UInt8] {
        var bytes = input
        for _ in 0..<1 + random.below(4) {
            let place = random.below(bytes.count)
            switch random.below(4) {
            case 0: bytes[place] ^= 1 << UInt8(random.below(8))
            case 1: bytes[place] = UInt8(random.below(256))
            case 2: bytes[place] = bytes[random.below(bytes.count)]
            default: bytes[place] = random.isOne(in: 2) ? bytes[place] &+ 1 : bytes[place] &- 1
            }
        }
        return bytes
    }

    @Test("every truncated archive is refused")
    func cut() throws {
        for archive in try Self.corpus() {
            for length in stride(from: 0, to: archive.count, by: 7) {
                #expect(!Self.decodes(Array(archive.prefix(length))))
            }
        }
    }

    @Test("an archive larger than the limit is refused without decoding")
    func size() throws {
        let data = try ArchiveSamples.archive(ArchiveSamples.recordID)
        #expect(throws: StratusArchiveError.self) {
            try StratusArchive.decode(CKRecord.ID.self, from: data, byteCountLimit: data.count - 1)
        }
        #expect(code(of: data, CKRecord.ID.self, limit: data.count - 1) == .tooLarge)
        #expect(code(of: data, CKRecord.ID.self, limit: data.count) == nil)
    }

    @Test("an archive of another object is refused")
    func wrongClass() throws {
        #expect(code(of: try ArchiveSamples.archive(ArchiveSamples.zoneID), CKRecord.ID.self) == .wrongClass)
        #expect(code(of: try ArchiveSamples.archive(NSString(string: "x")), CKRecord.self) == .wrongClass)
        #expect(code(of: Data("<plist/>".utf8), CKRecord.self) == .notAnArchive)
    }

    @Test("cycles, deep nesting and a container referenced a million times are refused quickly")
    func bombs() {
        let circle: [TestList] = [
            .text("$null"), .dictionary([("$class", .reference(2)), ("NS.objects", .array([.reference(1)]))]),
            .className("NSArray"),
        ]
        #expect(
            code(of: AppleArchive.archive(objects: circle, top: [("root", .reference(1))]), CKRecord.self) == .damaged)

        var nest: [TestList] = [.text("$null"), .className("NSArray")]
        for level in 2..<100 {
            nest.append(.dictionary([("$class", .reference(1)), ("NS.objects", .array([.reference(level + 1)]))]))
        }
        nest.append(.text("bottom"))
        #expect(
            code(of: AppleArchive.archive(objects: nest, top: [("root", .reference(2))]), CKRecord.self) == .damaged)

        // Each list contains the previous one, and all are side by side, so that each is found near the top.
        var stairs: [TestList] = [
            .text("$null"), .className("NSArray"),
            .dictionary([
                ("$class", .reference(1)), ("NS.objects", .array((3..<5_000).map { .reference($0) })),
            ]),
            .text("bottom"),
        ]
        for step in 4..<5_000 {
            stairs.append(.dictionary([("$class", .reference(1)), ("NS.objects", .array([.reference(step - 1)]))]))
        }
        let staircase = AppleArchive.archive(objects: stairs, top: [("root", .reference(2))])
        #expect(code(of: staircase, CKRecord.self) == .damaged)

        var listStairs = TestList.array([.text("bottom")])
        for _ in 0..<40 { listStairs = .array([listStairs]) }
        #expect(code(of: AppleArchive.archive(objects: [listStairs], top: []), CKRecord.self) == .damaged)

        // Twenty levels of lists, each naming the next one a hundred times.
        var tree: [TestList] = [.text("$null"), .className("NSArray")]
        for level in 2..<22 {
            let members = [TestList](repeating: .reference(level + 1), count: 100)
            tree.append(.dictionary([("$class", .reference(1)), ("NS.objects", .array(members))]))
        }
        tree.append(.text("leaf"))
        let data = AppleArchive.archive(objects: tree, top: [("root", .reference(2))])
        #expect(code(of: data, CKRecord.self) != nil)
    }

    @Test("[X-25] references in place of objects that form a cycle are refused", arguments: [1, 2, 3])
    func circlesOfReferences(length: Int) {
        // An unknown key names the first of the cycle; checking whether that is empty must terminate.
        var objects: [TestList] = [
            .text("$null"),
            .dictionary([("$class", .reference(2)), ("NS.objects", .array([])), ("Unknown", .reference(3))]),
            .className("NSArray"),
        ]
        for index in 0..<length { objects.append(.reference(3 + (index + 1) % length)) }
        for top in [[("root", TestList.reference(1))], [("root", .reference(1)), ("more", .reference(3))]] {
            #expect(code(of: AppleArchive.archive(objects: objects, top: top), CKRecord.self) != nil)
        }
    }

    @Test("an object that fails to decode is tried once, not once per reference")
    func failingObjects() {
        // Each record names the next one under five keys and fails because it lacks a type, forty levels deep.
        let keys = ["RecordID", "CreatorUserRecordID", "LastModifiedUserRecordID", "ParentReference", "ShareReference"]
        var objects: [TestList] = [.text("$null"), .className("CKRecord"), .text("Note")]
        for level in 3..<33 {
            objects.append(
                .dictionary(
                    [("$class", .reference(1)), ("RecordType", .reference(2))]
                        + keys.map { ($0, .reference(level + 1)) }))
        }
        objects.append(.text("bottom"))
        #expect(code(of: AppleArchive.archive(objects: objects, top: [("root", .reference(3))]), CKRecord.self) != nil)
    }

    private func code<Object: NSObject & NSSecureCoding>(
        of data: Data, _ type: Object.Type, limit: Int = StratusArchive.defaultByteCountLimit
    ) -> StratusArchiveError.Code? {
        do throws(StratusArchiveError) {
            _ = try StratusArchive.decode(type, from: data, byteCountLimit: limit)
            return nil
        } catch {
            return error.code
        }
    }
}
