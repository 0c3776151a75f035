// Random histories of saves and deletes, by clients that know more or less of the stored state, against the naive
// oracle.

import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("random histories of saving")
struct PolicyHistoryTests {
    private static let names = ["a", "b", "c", "d", "e", "f", "g"]

    @Test(
        "[S-01][S-02][S-04][A-01][A-02][A-05][A-11][R-03][R-07][R-08] what the server answers and stores equals the oracle"
    )
    func histories() throws {
        let random = SplitMix64.announced("PolicyHistoryTests")
        var codes: Set<Int> = []
        for run in 0..<60 {
            var failure: String?
            let history = try History(random.generator(forCase: run), isBroken: false)
            try history.run(steps: 60) { failure = failure ?? $0 }
            codes.formUnion(history.codes)
            #expect(failure == nil, "run \(run) of seed \(random.seed): \(failure ?? "")")
            guard failure == nil else { return }
        }
        // The histories have reached every answer of the oracle.
        #expect(codes == [1, 11, 14, 22, 27, 31])
    }

    @Test("the oracle detects a server that acknowledges a save it did not store")
    func oracleNotices() throws {
        let random = SplitMix64.announced("PolicyHistoryTests, planted")
        var found = 0
        for run in 0..<5 {
            var failure: String?
            try History(random.generator(forCase: run), isBroken: true).run(steps: 60) { failure = failure ?? $0 }
            if failure != nil { found += 1 }
        }
        #expect(found == 5)
    }

    /// One bench, one oracle, and the memory of a client.
    private final class History {
        var random: SplitMix64
        let bench: RecordBench
        let zone: ZoneAddress
        var oracle: PolicyOracle
        /// Whether the test leaves out one save that it reports to the oracle.
        let isBroken: Bool
        /// The records that clients have received, by name: the version and the record.
        var known: [String: [(version: Int, record: ClientRecord)]] = [:]
        var tags: [String: String] = [:]
        /// The codes of all failures.
        var codes: Set<Int> = []

        init(_ random: SplitMix64, isBroken: Bool) throws {
            self.random = random
            self.isBroken = isBroken
            let limit = 2 + Int(random.seed % 2)
            bench = try RecordBench(
                inMemory: true, seed: random.seed
            ) { $0.owningReferenceCount = limit }
            zone = random.seed % 4 == 0 ? .defaultZone : RecordBench.notes
            oracle = PolicyOracle(ownerLimit: limit)
            if zone != .defaultZone { try bench.makeNotes() }
        }

        func run(steps: Int, _ fail: (String) -> Void) throws {
            for step in 0..<steps {
                try self.step { fail("step \(step): \($0)") }
            }
            let report = try bench.service.engine.verify()
            if !report.isClean { fail("indexes: \(report)") }
            let usage = try bench.service.engine.read { try QuotaLedger.verify(bench.alice.userName, in: $0) }
            if !usage.isExact { fail("usage: \(usage)") }
        }

        private func step(_ fail: (String) -> Void) throws {
            var names = PolicyHistoryTests.names.shuffled(using: &random)
            let saves = (0..<random.below(4)).map { _ in save(names.removeLast()) }
            let deletes = (0..<random.below(3)).map { _ in names.removeLast() }
            let policy = random.element(of: SavePolicy.allCases)
            let isAtomic = random.isOne(in: 2)
            let before = oracle
            let expected = oracle.modify(
                saves.map(\.0), deletes, policy, isAtomic: isAtomic && zone != .defaultZone)
            var sent = saves.map(\.1)
            if isBroken, !sent.isEmpty, random.isOne(in: 4) {
                sent[0].fields["a"] = ClientField(.int64(-1))
                sent[0].changedKeys.insert("a")
            }
            let answer = try bench.modify(
                sent, deleting: deletes.map { RecordAddress(recordName: $0, zone: zone) }, policy: policy,
                atomic: isAtomic)
            codes.formUnion((answer.saves.compactMap(\.code) + answer.deletes.compactMap(\.code)).map(\.rawValue))
            let isSame =
                zip(answer.saves.map { Self.answer($0.code) }, expected.saves).allSatisfy {
                    Self.agree($0, $1, expected.isSettled)
                }
                && zip(answer.deletes.map { Self.answer($0.code) }, expected.deletes).allSatisfy {
                    Self.agree($0, $1, expected.isSettled)
                }
            let line = "\(policy) atomic=\(isAtomic) \(saves.map(\.0)) deleting \(deletes) on \(before.records)"
            if !isSame { fail("\(line): \(answer.saves.map(\.code)) \(answer.deletes.map(\.code)), not \(expected)") }
            try compare { fail("\(line): \($0)") }
        }

        private static func answer(_ code: CloudError.Code?) -> OracleAnswer {
            code.map { .failed($0.rawValue) } ?? .done
        }

        private static func agree(_ found: OracleAnswer, _ expected: OracleAnswer, _ isSettled: Bool) -> Bool {
            if found == expected { return true }
            // Next to items that failed by themselves the others may report further errors.
            guard !isSettled, case .failed(let code) = found, expected == .failed(PolicyOracle.batch) else {
                return false
            }
            return [PolicyOracle.reference, PolicyOracle.internalCode, PolicyOracle.limit].contains(code)
        }

        /// A save by a client that knows the record, an old version of it, or nothing.
        private func save(_ name: String) -> (OracleSave, RecordSave) {
            let memories = known[name] ?? []
            let memory =
                memories.isEmpty || random.isOne(in: 4)
                ? nil : memories[random.isOne(in: 3) ? random.below(memories.count) : memories.count - 1]
            var held = memory.map { Self.oracleRecord($0.record) } ?? OracleRecord(version: 0, numbers: [:])
            var changed: Set<String> = []
            for key in ["a", "b"] where random.isOne(in: 2) {
                held.numbers[key] = random.isOne(in: 5) ? nil : Int64(random.below(100))
                changed.insert(key)
            }
            if random.isOne(in: 2) {
                held.parent = random.isOne(in: 3) ? nil : random.element(of: PolicyHistoryTests.names)
                changed.insert("parent")
            }
            if random.isOne(in: 3) {
                held.owner = random.isOne(in: 3) ? nil : random.element(of: PolicyHistoryTests.names)
                changed.insert("owner")
            }
            let oracleSave = OracleSave(name: name, base: memory?.version, held: held, changed: changed)
            var save = RecordSave(
                address: RecordAddress(recordName: name, zone: zone), type: "Note", baseTag: memory?.record.changeTag,
                parent: held.parent.map { .parent($0, in: zone) }, isParentChanged: changed.contains("parent"),
                changedKeys: changed.subtracting(["parent"]))
            for (key, number) in held.numbers { save.fields[key] = ClientField(.int64(number)) }
            if let owner = held.owner { save.fields["owner"] = ClientField(.owned(by: owner, in: zone)) }
            return (oracleSave, save)
        }

        private static func oracleRecord(_ record: ClientRecord) -> OracleRecord {
            var numbers: [String: Int64] = [:]
            var owner: String?
            for (key, field) in record.fields {
                if case .int64(let number) = field.value { numbers[key] = number }
                if case .reference(let reference) = field.value { owner = reference.target.recordName }
            }
            return OracleRecord(
                version: 0, parent: record.parent?.target.recordName, owner: owner, numbers: numbers)
        }

        /// The whole stored zone equals the oracle's.
        private func compare(_ fail: (String) -> Void) throws {
            let request = FetchRecordsRequest(
                addresses: PolicyHistoryTests.names.map { RecordAddress(recordName: $0, zone: zone) })
            let answer = try bench.service.fetchRecords(request, as: bench.caller(bench.alice), in: .private)
            for (name, found) in zip(PolicyHistoryTests.names, answer.records) {
                guard let expected = oracle.records[name] else {
                    if found.code != .unknownItem { fail("\(name) should be gone") }
                    continue
                }
                guard case .success(let record) = found else {
                    fail("\(name) should be there")
                    continue
                }
                var stored = Self.oracleRecord(record)
                stored.version = expected.version
                if stored != expected { fail("\(name) is \(stored), not \(expected)") }
                // A version has one tag, and a new version a new one.
                let version = "\(name)-\(expected.version)"
                if let tag = tags[version] {
                    if tag != record.changeTag { fail("\(name) has another tag without a save") }
                } else {
                    if tags.contains(where: { $0.key.hasPrefix("\(name)-") && $0.value == record.changeTag }) {
                        fail("\(name) kept its tag")
                    }
                    tags[version] = record.changeTag
                    known[name, default: []].append((expected.version, record))
                }
            }
        }
    }
}
