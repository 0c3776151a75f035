// Identities come from getrandom, which needs neither a descriptor nor /dev: in a process without both, none is
// predictable and none occurs twice.

import Foundation
import StratusLayout
import StratusLevelDB
import StratusModel
import StratusRecords
import StratusStore
import Testing

@Suite("random identities")
struct DrawnIdentityTests {
    @Test("without a free descriptor every identity is new: of records, shares, operations, accounts, zones")
    func descriptorLimit() throws {
        let directory = try TemporaryDirectory()
        try expectNewIdentities(TestChild.runWithFewDescriptors("draw", directory.path), in: directory.path)
    }

    @Test("with an empty /dev every identity is new, or without a free descriptor if the test cannot create one")
    func emptyDev() throws {
        let directory = try TemporaryDirectory()
        guard let output = try TestChild.runWithEmptyDev("draw", directory.path) else {
            print("This process may not unshare: the limit of descriptors alone is tested.")
            return
        }
        #expect(output.hasPrefix("/dev is empty\n"))
        try expectNewIdentities(output, in: directory.path)
    }

    private func expectNewIdentities(_ output: String, in path: String) throws {
        let lines = output.split(separator: "\n").filter { !$0.hasPrefix("/dev") && !$0.hasPrefix("Foundation") }
        #expect(lines.count == 16, "\(output)")
        var drawn = lines.map { String($0.split(separator: " ").last ?? "") }
        let store = try LevelDBStore.open(at: path, options: LevelDBOptions(formatVersion: StoreFormat.number))
        defer { store.close() }
        let engine = try RecordEngine(store: store, incarnation: UUID())
        try engine.read { reader in
            try reader.visitDatabases { _, entry in
                drawn.append(entry.identity.uuidString)
                return .next
            }
            try reader.visitZones { id, listing in
                let header = try reader.existingZone(id).header()
                drawn += [listing.entry.identity, header.incarnation].map(\.uuidString)
                return .next
            }
        }
        #expect(drawn.count == 16 + 1 + 2 * 2, "\(output)")
        #expect(Set(drawn).count == drawn.count, "\(output)")
        #expect(!drawn.contains { UUID.isWithoutRandomness($0) }, "\(output)")
        let report = try engine.verify()
        #expect(report.isClean, "\(report.findings)")
    }
}
