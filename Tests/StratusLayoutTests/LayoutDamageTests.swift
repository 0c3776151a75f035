// Damaged bytes: every flip and every truncation of every sample, and random bytes. Nothing traps, and accepted bytes
// are canonical (`LayoutChecks`).

import StratusLayout
import StratusModel
import StratusStore
import StratusTestSupport
import Testing

@Suite("damaged bytes")
struct LayoutDamageTests {
    @Test("no changed byte and no truncation of a key traps, and an accepted key has its exact description")
    func damagedKeys() {
        for key in LayoutSamples.allKeys + [[]] {
            for damaged in Self.damaged(key) { #expect(LayoutChecks.key(damaged) == nil) }
        }
    }

    @Test("no changed byte and no truncation of a value traps, and an accepted value encodes to the same bytes")
    func damagedValues() throws {
        for entry in try LayoutSamples.values() {
            for damaged in Self.damaged(entry.value) {
                #expect(LayoutChecks.record(damaged) == nil)
                let line = ValueDescription.text(of: damaged, forKey: entry.key)
                #expect(LayoutChecks.unsafeScalar(in: line) == nil)
            }
        }
    }

    @Test("no truncated value is accepted as the original value")
    func cuts() throws {
        for entry in try LayoutSamples.values() {
            for count in entry.value.indices {
                let line = ValueDescription.text(of: Array(entry.value[..<count]), forKey: entry.key)
                #expect(line.hasPrefix("damaged value"), "\(line)")
            }
            let longer = ValueDescription.text(of: entry.value + [0], forKey: entry.key)
            #expect(longer.hasPrefix("damaged value"), "\(longer)")
        }
    }

    @Test("random bytes after every prefix never trap")
    func randomBytes() throws {
        let seed = SplitMix64.announced("damaged bytes")
        let prefixes = LayoutSamples.allKeys.map { Array($0.prefix(6)) } + [[]]
        let values = try LayoutSamples.values().map(\.value)
        for index in 0..<CaseCount.of(2_000, full: 40_000) {
            var random = seed.generator(forCase: index)
            let tail = random.bytes(count: random.below(40))
            #expect(LayoutChecks.key(random.element(of: prefixes) + tail) == nil)
            let value = random.element(of: values)
            #expect(LayoutChecks.record(Array(value.prefix(random.below(value.count))) + tail) == nil)
        }
    }

    /// The bytes cut at every place, and with every byte changed in three ways, or by `make sweeps` in each of its bits
    /// if there are few: each change is decoded in twenty ways.
    private static func damaged(_ bytes: [UInt8]) -> [[UInt8]] {
        let masks: [UInt8] =
            CaseCount.isFull && bytes.count <= 200 ? [1, 2, 4, 8, 16, 32, 64, 128] : [0x01, 0x80, 0xFF]
        var variants = bytes.indices.map { Array(bytes[..<$0]) }
        for index in bytes.indices {
            for mask in masks {
                var flipped = bytes
                flipped[index] ^= mask
                variants.append(flipped)
            }
        }
        return variants
    }

    @Test("a newer store format is distinguished from damage before the rest of its entry is read")
    func newerFormat() throws {
        let newer = FormatEntry(version: FormatEntry.currentVersion + 1, incarnation: LayoutSamples.first).encoded()
        for bytes in [newer, Array(newer.prefix(2)), newer + [1, 2, 3]] {
            let error = #expect(throws: StoreError.self) { try FormatEntry(decoding: bytes.span) }
            #expect(error?.code == .newerFormat)
        }
        let error = #expect(throws: StoreError.self) { try FormatEntry(decoding: [9].span) }
        #expect(error?.code == .corruption)
    }

    @Test("numbers that are too large or use too many bytes are damage")
    func numbers() throws {
        let wrong: [[UInt8]] = [
            [1, 0x80, 0x00], [1, 0xFF, 0x00], [1, 0x80], [1] + [UInt8](repeating: 0xFF, count: 9) + [0x02],
            [1] + [UInt8](repeating: 0xFF, count: 12),
        ]
        for bytes in wrong { #expect(throws: StoreError.self) { try CountEntry(decoding: bytes.span) } }
        for number in [0, 127, 128, 16_383, 16_384, UInt64.max >> 1, .max] {
            let entry = CountEntry(count: number)
            #expect(try CountEntry(decoding: entry.encoded().span) == entry)
        }
    }
}

@Suite("the parts of a parent entry")
struct ParentEntryTests {
    @Test("every combination of parts is read as it was written")
    func parts() throws {
        let names: [RecordName?] = [nil, "", "p", RecordName(String(repeating: "n", count: 255))]
        for parent in names {
            for share in names {
                for hasChildren in [false, true] {
                    let entry = ParentEntry(
                        parent: parent, parentSince: 300, share: share, shareSince: 7, hasChildren: hasChildren)
                    let bytes = entry.encoded()
                    #expect(try ParentEntry(decoding: bytes.span) == entry)
                    #expect(LayoutChecks.record(bytes) == nil)
                }
            }
        }
    }
}
