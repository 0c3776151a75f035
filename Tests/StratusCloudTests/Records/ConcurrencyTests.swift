// Many concurrent callers: no update is lost, no zone is half written, and no caller sees another's records.

import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("many callers")
struct ConcurrencyTests {
    @Test("[S-01][A-02] concurrent read-modify-writes lose no update, and pairs are written together")
    func counters() async throws {
        try await TestThreads.offPool {
            let bench = try RecordBench()
            try bench.makeNotes()
            try bench.save(.new("one", ["n": .int64(0)]), .new("two", ["n": .int64(0)]))
            let threadCount = 8
            let stepCount = 12
            try TestThreads.run(threadCount) { _ in
                var done = 0
                while done < stepCount {
                    let fetch = FetchRecordsRequest(addresses: [.note("one"), .note("two")])
                    let records = try bench.service.fetchRecords(
                        fetch, as: bench.caller(bench.alice), in: .private
                    ).records.map { try $0.get() }
                    let numbers = records.compactMap { record -> Int64? in
                        if case .int64(let number) = record.fields["n"]?.value { number } else { nil }
                    }
                    guard numbers.count == 2, numbers[0] == numbers[1] else {
                        throw ConformanceFailure("one zone was seen half written: \(numbers)")
                    }
                    let answer = try bench.modify(records.map { .change($0, ["n": .int64(numbers[0] + 1)]) })
                    if answer.saves.allSatisfy({ $0.error == nil }) { done += 1 }
                }
            }
            let total = Int64(threadCount * stepCount)
            #expect(try bench.fetch(.note("one")).get().fields["n"] == ClientField(.int64(total)))
            #expect(try bench.fetch(.note("two")).get().fields["n"] == ClientField(.int64(total)))
        }
    }

    @Test("concurrent callers of several accounts each find their own records and no others")
    func accounts() async throws {
        try await TestThreads.offPool {
            let bench = try RecordBench()
            let accounts = try (0..<4).map { try bench.service.createAccount(AccountDraft(externalID: "user-\($0)")) }
            try TestThreads.run(16) { index in
                let account = accounts[index % accounts.count]
                var random = SplitMix64(seed: UInt64(index))
                try bench.makeZone(RecordBench.notes, by: account)
                for step in 0..<15 {
                    let zone = random.isOne(in: 3) ? ZoneAddress.defaultZone : RecordBench.notes
                    let name = "\(account.externalID ?? "")-\(index)-\(step)"
                    try bench.save(.new(name, in: zone, ["by": .string(account.userName.text)]), by: account)
                    if random.isOne(in: 4) {
                        try bench.delete(RecordAddress(recordName: name, zone: zone), by: account)
                    }
                }
            }
            for account in accounts {
                let own = account.externalID ?? ""
                for zone in [ZoneAddress.defaultZone, RecordBench.notes] {
                    let id = ZoneID(
                        database: DatabaseID(
                            container: RecordBench.container, owner: account.userName, scope: .private),
                        name: ZoneName(zone.zoneName))
                    let names = try bench.service.engine.read {
                        try $0.existingZone(id).changes(after: 0).map(\.name.text)
                    }
                    #expect(names.count > 10)
                    #expect(names.allSatisfy { $0.hasPrefix(own + "-") })
                }
            }
            #expect(try bench.service.engine.verify().isClean)
        }
    }
}
