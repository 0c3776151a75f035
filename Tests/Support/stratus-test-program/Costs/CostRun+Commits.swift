// W9 and W11, in stores of their own: shared syncs, and the cost of the CloudKit API; then W14 and W13, which end the
// store.

import Foundation
import StratusLevelDB
import StratusModel
import StratusRecords
import StratusWorkloads
import Synchronization

extension CostRun {
    func countCommits() throws {
        try countSavers()
        let face = try FaceSide(at: folder + "/face", isRepeatable: true)
        defer { face.close() }
        let numbers = NumberSource()
        let ways = [
            ("by an operation", face.saveByOperation), ("below the face", face.saveByService),
            ("by the engine", face.saveByEngine),
        ]
        for (way, save) in ways {
            for isCounted in [false, true] {
                let records = (0..<400).map { _ in numbers.next().record }
                guard isCounted else {
                    _ = try save(records)
                    continue
                }
                try count("W11 save 400 records \(way)", face.store, allocates: .process) { _ = try save(records) }
            }
        }
    }

    /// One caller's saves, and 64 that arrive while another's is being written.
    private func countSavers() throws {
        let isHeld = DispatchSemaphore(value: 0)
        let allRan = DispatchSemaphore(value: 0)
        let mustHold = Atomic(false)
        var options = Self.options
        options.testHooks.willWriteGroup = { _ in
            guard mustHold.exchange(false, ordering: .relaxed) else { return }
            isHeld.signal()
            allRan.wait()
        }
        let stratus = try StratusSide(at: folder + "/saves", options: options)
        defer { stratus.close() }
        let zone = StratusSide.zone("saves")
        try stratus.createZone(zone)
        let records = (0..<100).map { number in
            Record(
                name: RecordName(seed: 9, index: number), type: "File",
                fields: RecordContent(seed: 9, index: number).fields)
        }
        try count("W9 20 saves of one caller", stratus.store) {
            for record in records[0..<20] { try stratus.save([record], in: zone) }
        }
        try count("W9 one save, and 64 that wait for it", stratus.store, allocates: .none) {
            mustHold.store(true, ordering: .relaxed)
            try Self.saveAtOnce(Array(records[20..<85]), in: zone, stratus, isHeld, allRan)
        }
    }

    private static func saveAtOnce(
        _ records: [Record], in zone: ZoneID, _ stratus: StratusSide, _ isHeld: DispatchSemaphore,
        _ allRan: DispatchSemaphore
    ) throws {
        let failure = SharedFailure()
        let done = DispatchGroup()
        let bodyCount = Atomic(0)
        func save(_ record: Record, isFirst: Bool) {
            done.enter()
            Thread.detachNewThread {
                defer { done.leave() }
                do {
                    let request = MutationRequest([.save(record)], stamp: DataClock.stamp, tagSalt: 7)
                    try stratus.engine.transact { transaction in
                        _ = try transaction.apply(request, in: zone)
                        guard !isFirst else { return }
                        if bodyCount.add(1, ordering: .relaxed).newValue == records.count - 1 { allRan.signal() }
                    }
                } catch {
                    failure.note(error)
                    allRan.signal()
                    isHeld.signal()
                }
            }
        }
        save(records[0], isFirst: true)
        isHeld.wait()
        for record in records.dropFirst() { save(record, isFirst: false) }
        done.wait()
        try failure.check()
    }

    /// The cost to reopen the store, and to delete its zones.
    func countEnds() throws {
        stratus?.close()
        server = nil
        let stratus = try StratusSide(at: folder + "/stratus", options: Self.options)
        defer { stratus.close() }
        self.stratus = stratus
        let names = randomNames(100)
        try count("W13 the shares of 100 records after opening") { try StratusSide.askShares(stratus.engine, names) }
        for (zone, size) in [(StratusSide.zone("tree-1000"), "1,000"), (StratusSide.mainZone, "10,000")] {
            try count("W14 delete a zone of \(size)") {
                try stratus.engine.transact { _ = try $0.deleteZone(zone) }
            }
        }
        try count("W14 purge both") {
            _ = try stratus.engine.purgeDeletedZones(pause: { usleep(1_000) })
        }
    }
}
