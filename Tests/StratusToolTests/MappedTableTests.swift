// Tables that LevelDB has mapped, released while a verb runs. 'make memory' measures the memory of every verb.

import Foundation
import Testing

@testable import stratus

@Suite("memory-mapped tables")
struct MappedTableTests {
    @Test(
        "of the process's memory map only tables are released, also removed ones",
        arguments: [
            ("7f00a000-7f00c000 r--s 00000000 fe:00 123    /a store/000005.ldb", 0x7f00_a000..<0x7f00_c000),
            ("7f00a000-7f00c000 r--s 00000000 fe:00 123    /store/000005.sst (deleted)", 0x7f00_a000..<0x7f00_c000),
            ("7f00a000-7f00c000 r-xp 00000000 fe:00 123    /store.ldb/libleveldb.so", nil),
            ("7f00a000-7f00c000 rw-p 00000000 00:00 0    [heap]", nil),
            ("7f00a000-7f00c000 rw-p 00000000 00:00 0", nil),
            ("7f00c000-7f00a000 r--s 00000000 fe:00 123    /store/000005.ldb", nil),
            ("x-y.ldb", nil),
            ("", nil),
        ] as [(String, Range<UInt64>?)])
    func mapLines(line: String, addresses: Range<UInt64>?) {
        #expect(MappedTables.addresses(ofTable: Substring(line)) == addresses)
    }

    @Test("a released table is read again, and nothing else changes")
    func givingBack() throws {
        let folder = try TestDirectory()
        let bytes = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        for name in ["000005.ldb", "other"] { try bytes.write(to: URL(filePath: "\(folder.path)/\(name)")) }
        let table = try Data(contentsOf: URL(filePath: "\(folder.path)/000005.ldb"), options: .alwaysMapped)
        let other = try Data(contentsOf: URL(filePath: "\(folder.path)/other"), options: .alwaysMapped)
        #expect(table == bytes)
        #expect(other == bytes)
        #expect(MappedTables.fileByteCount() > 0)
        MappedTables.giveBack()
        #expect(table == bytes)
        #expect(other == bytes)
    }
}
