// The writes of a process that is killed, so that another can determine what must be there: each commit follows from
// the seed, the writer and the commit's number. Each commit also saves its number in a record of its own, so that the
// state shows which commit was the last. Each writer has its own database, but they share commits of the store.
// Meanwhile indexes for queries come and go, so that a kill finds them half filled and half cleared.

import FoundationEssentials
import StratusLayout
package import StratusModel
package import StratusRecords
package import StratusStore

/// The commits of some writers, from a seed.
package struct CrashWorkload: Sendable {
    package static let writerCount = 3
    private static let names = "abcdefghijklmn".map { RecordName(String($0)) }
    static let marker: RecordName = "marker"
    private static let limits = OracleLimits(depth: 10_000, itemCount: 4_000)

    package let seed: UInt64

    package init(seed: UInt64) {
        self.seed = seed
    }

    package static func zone(of writer: Int) -> ZoneID { HistoryContent.zones[[0, 2, 3][writer]] }

    /// Opens the record layer on a store and creates the writers' zones.
    package static func openEngine(on store: any OrderedStore) throws -> RecordEngine {
        var options = RecordEngineOptions()
        // So few records per batch that the work on an index takes several commits.
        options.limits.indexBatchCount = 2
        let engine = try RecordEngine(
            store: store, options: options, incarnation: HistoryContent.identity(1_000_000))
        for writer in 0..<writerCount {
            let identity = HistoryContent.identity(writer + 1)
            let birth = ZoneBirth(
                identity: identity, incarnation: identity, stamp: HistoryContent.stamp(0), databaseIdentity: identity)
            try engine.transact { _ = try $0.createZone(zone(of: writer), birth) }
        }
        return engine
    }

    /// The items of a commit, its marker left out.
    private func items(of writer: Int, _ number: Int) -> [HistoryItem] {
        var random = SplitMix64(seed: seed ^ (UInt64(writer) << 56) ^ UInt64(number) &* 0x9E37_79B9)
        var seen: Set<RecordName> = []
        return (0..<Int.random(in: 1...3, using: &random)).compactMap { _ in
            guard let name = Self.names.randomElement(using: &random), seen.insert(name).inserted else { return nil }
            if Int.random(in: 0..<100, using: &random) < 15 { return .delete(name) }
            let isTop = Int.random(in: 0..<100, using: &random) < 30
            let isRoot = Int.random(in: 0..<100, using: &random) < 8
            return .save(
                name: name, parent: isTop ? nil : Self.names.randomElement(using: &random), share: isRoot ? "s" : nil,
                content: Int.random(in: 0..<60, using: &random))
        }
    }

    private static func markerRecord(_ number: Int) -> Record {
        Record(name: marker, type: "Marker", fields: ["number": Field(.int64(Int64(number)))])
    }

    /// A number that two processes agree on only if they mean the same commit.
    package func digest(of writer: Int, _ number: Int) -> UInt64 {
        "\(items(of: writer, number))".utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }

    /// Runs one commit. A refused request does not change its marker.
    package func commit(_ number: Int, of writer: Int, to engine: RecordEngine) throws {
        let request = HistoryRequest(zone: 0, items: items(of: writer, number)).mutationRequest(time: number)
        let marker = MutationRequest(
            [.save(Self.markerRecord(number))], stamp: HistoryContent.stamp(number),
            tagSalt: HistoryContent.salt(number))
        let zone = Self.zone(of: writer)
        try engine.transact { transaction in
            do {
                try transaction.apply(request, in: zone)
            } catch is RequestRefused {}
            try transaction.apply(marker, in: zone)
        }
    }

    /// Changes the indexes of a zone, and partly fills and clears them. Which way follows from `number`.
    package static func changeIndexes(_ number: Int, in engine: RecordEngine) throws {
        let wanted: [FieldKey: QueryIndexKinds] =
            number.isMultiple(of: 2) ? ["content": .all, "title": .words] : ["content": .values]
        let type = HistoryContent.type(number / 2)
        try engine.transact { transaction in
            let zone = try transaction.existingZone(zone(of: number % writerCount))
            try transaction.setQueryIndexes(number.isMultiple(of: 7) ? [:] : wanted, of: type, in: zone)
        }
        try engine.buildIndexes(pause: {}, shouldContinue: { $0.commits < number % 5 })
    }

    /// The number of the last commit that a store holds; 0 before the first.
    package static func lastCommit(of writer: Int, in engine: RecordEngine) throws -> Int {
        try engine.read { reader in
            guard let found = try reader.existingZone(zone(of: writer)).record(marker) else { return 0 }
            guard case .int64(let number)? = found.record.fields["number"]?.value else {
                throw HistoryFailure("the marker has no number: \(found)")
            }
            return Int(number)
        }
    }

    /// The state of one writer's zone after each commit, computed on demand.
    package struct Replay {
        private let workload: CrashWorkload
        private let writer: Int
        private var oracle = OracleStore()
        package private(set) var number = 0

        package init(_ workload: CrashWorkload, writer: Int) {
            self.workload = workload
            self.writer = writer
            _ = oracle.createZone(CrashWorkload.zone(of: writer), birth: writer + 1)
        }

        package mutating func advance(to last: Int) {
            let zone = CrashWorkload.zone(of: writer)
            while number < last {
                number += 1
                let stamp = HistoryContent.stamp(number)
                let items = workload.items(of: writer, number).map(\.oracleItem)
                _ = oracle.apply(items, in: zone, stamp: stamp, limits: CrashWorkload.limits)
                let marker = [OracleItem.save(CrashWorkload.markerRecord(number))]
                _ = oracle.apply(marker, in: zone, stamp: stamp, limits: CrashWorkload.limits)
            }
        }

        /// Throws `HistoryFailure` unless the engine answers as the commits so far demand.
        package func check(_ engine: RecordEngine) throws {
            let zone = CrashWorkload.zone(of: writer)
            guard let oracleZone = oracle.zones[zone] else { return }
            try engine.read { reader in
                var checker = ZoneChecker(
                    try reader.existingZone(zone), oracleZone, depthLimit: CrashWorkload.limits.depth,
                    seed: UInt64(number))
                try checker.checkAll(isThorough: false, comparesSystemFields: false)
            }
        }
    }
}
