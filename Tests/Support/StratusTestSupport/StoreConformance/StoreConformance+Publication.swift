// Versions and publication: what a cache above the store relies on.

internal import StratusStore

/// The arguments of publish actions, in the order they ran.
private struct Publication: Equatable, Sendable {
    /// The counter that the transaction had written.
    var counter: Int
    var version: StoreVersion
}

private struct Planned: Error {}

extension StoreConformance {
    static let publicationChecks: [Check] = [
        Check("the version grows with every commit that writes, and with nothing else") { store in
            var version = try store.read { $0.version }
            for number in 1...5 {
                try store.transact { transaction in
                    try requireEqual(transaction.version, version, "the version in transaction \(number)")
                    try transaction.setNumber(number, forKey: [1])
                    try requireEqual(transaction.version, version, "the version after writing")
                }
                let next = try store.read { $0.version }
                try require(next > version, "the version stayed \(version) after commit \(number)")
                version = next
                _ = try store.transact { try $0.number(forKey: [1]) }
                try requireEqual(try store.read { $0.version }, version, "after a transaction that writes nothing")
                do {
                    try store.transact { transaction in
                        try transaction.setNumber(0, forKey: [1])
                        throw Planned()
                    }
                } catch is Planned {}
                try requireEqual(try store.read { $0.version }, version, "after a transaction that failed")
            }
            try store.transact { try $0.delete([1]) }
            try require(try store.read { $0.version } > version, "the version stayed after a delete")
        },

        Check("publish actions run once for each commit, in commit order, and never for a failure", needs: .unshared) {
            store in
            let log = Locked<[Publication]>([])
            let threadCount = 4
            let attemptCount = 20
            try TestThreads.run(threadCount) { _ in
                for attempt in 0..<attemptCount {
                    do {
                        try store.transact { transaction in
                            let counter = try transaction.number(forKey: [1]) + 1
                            try transaction.setNumber(counter, forKey: [1])
                            transaction.onPublish { version in
                                log.withLock { $0.append(Publication(counter: counter, version: version)) }
                            }
                            TestThreads.yield()
                            if attempt % 5 == 4 { throw Planned() }
                        }
                    } catch is Planned {}
                }
            }
            let log1 = log.value
            try requireEqual(
                log1.map(\.counter), Array(1...(threadCount * attemptCount * 4 / 5)), "counters in published order")
            for (earlier, later) in zip(log1, log1.dropFirst()) {
                try require(earlier.version <= later.version, "versions fall: \(earlier), \(later)")
            }
            try requireEqual(try store.read { $0.version }, log1.last?.version, "the last version")
        },

        Check("publish actions run once for each commit, before transact returns, and never for a failure") { store in
            let log = Locked<[Int]>([])
            try TestThreads.run(4) { thread in
                for attempt in 0..<20 {
                    let fails = attempt % 5 == 4
                    var number = 0
                    do {
                        number = try store.transact { transaction in
                            let counter = try transaction.number(forKey: [1]) + 1
                            try transaction.setNumber(counter, forKey: [1])
                            transaction.onPublish { _ in log.withLock { $0.append(counter) } }
                            TestThreads.yield()
                            if fails { throw Planned() }
                            return counter
                        }
                    } catch is Planned { continue }
                    try require(log.value.contains(number), "commit \(number) of thread \(thread) was not announced")
                }
            }
            try requireEqual(log.value.sorted(), Array(1...64), "counters of all actions")
        },

        Check("publish actions have run when transact returns, in the order they were registered") { store in
            for writes in [true, false] {
                let log = Locked<[String]>([])
                try store.transact { transaction in
                    for name in ["a", "b", "c"] {
                        transaction.onPublish { version in log.withLock { $0.append("\(name)\(version)") } }
                    }
                    if writes { try transaction.set([1], to: [1]) }
                }
                let version = try store.read { $0.version }
                try requireEqual(
                    log.value, ["a\(version)", "b\(version)", "c\(version)"],
                    writes ? "actions" : "actions of a transaction that writes nothing")
            }
        },

        Check(
            "a version is announced before a reader can get it, and afterwards no reader gets an older one",
            needs: .unshared
        ) { store in
            let log = Locked([Publication(counter: 0, version: try store.read { $0.version })])
            let missing = Locked(2)
            try TestThreads.run(4) { thread in
                if thread < 2 {
                    defer { missing.withLock { $0 -= 1 } }
                    for _ in 0..<60 { try publishCounter(store, log) }
                } else {
                    while missing.value > 0 { try readCounter(store, log) }
                    try readCounter(store, log)
                }
            }
        },

        Check("a write is unpublished from the moment it is made until its version is published") { store in
            func requireUnpublished(_ keys: [UInt8], _ transaction: any StoreTransaction) throws {
                for key in UInt8(1)...4 {
                    try requireEqual(
                        transaction.hasUnpublishedWrite(forKey: [key]), keys.contains(key), "key \(key) of \(keys)")
                }
                for lower in UInt8(0)...5 {
                    for upper in UInt8(0)...5 {
                        try requireEqual(
                            transaction.hasUnpublishedWrite(in: KeyRange(from: [lower], upTo: [upper])),
                            keys.contains { $0 >= lower && $0 < upper }, "keys \(lower)..<\(upper) of \(keys)")
                    }
                }
            }
            try store.set([Entry([2], [2]), Entry([4], [4])])
            try store.transact { transaction in
                try requireUnpublished([], transaction)
                try transaction.set([1], to: [1])
                try requireUnpublished([1], transaction)
                try transaction.delete([2])
                try transaction.delete([3])
                try requireUnpublished([1, 2, 3], transaction)
            }
            try store.transact { try requireUnpublished([], $0) }
        },

        Check("what is kept of a value is given to snapshots that see just that value, while others write") { store in
            try keepAndOverwrite(store)
        },
    ]
}

/// A reader's object for a value.
private final class Made: Sendable {
    /// The keys with cached objects.
    static let keys: [[UInt8]] = [[0], [1], [2], [3]]

    let value: [UInt8]
    init(_ value: [UInt8]) { self.value = value }
}

/// Compares cached objects with the values, and offers copies if there are none.
private func look(_ reader: any StoreReader) throws {
    for key in Made.keys {
        let value = try reader.value(forKey: key)
        if let made = reader.keptObject(forKey: key) {
            try requireEqual((made as? Made)?.value, value, "what is kept of key \(key)")
        } else if let value {
            reader.keep(forKey: key, byteCount: value.count) { Made(value) }
        }
    }
}

/// Readers cache copies of values, compare what they get with the value, and offer copies again after others have
/// overwritten it.
private func keepAndOverwrite(_ store: any OrderedStore) throws {
    let keys = Made.keys
    for number in UInt8(0)..<40 {
        try store.read { before in
            try look(before)
            try store.transact { transaction in
                try look(transaction)
                let key = keys[Int(number) % keys.count]
                if number % 7 == 6 { try transaction.delete(key) } else { try transaction.set(key, to: [number]) }
                try look(transaction)
            }
            try look(before)
            try store.read { try look($0) }
            try look(before)
        }
        try store.read { try look($0) }
    }
    let missing = Locked(2)
    try TestThreads.run(4) { thread in
        guard thread < 2 else {
            while missing.value > 0 { try store.read { try look($0) } }
            return
        }
        defer { missing.withLock { $0 -= 1 } }
        for number in UInt8(0)..<40 {
            try store.transact { try $0.set(keys[Int(number) % keys.count], to: [UInt8(thread), number]) }
            try store.read { try look($0) }
        }
    }
}

private func publishCounter(_ store: any OrderedStore, _ log: Locked<[Publication]>) throws {
    try store.transact { transaction in
        let counter = try transaction.number(forKey: [1]) + 1
        try transaction.setNumber(counter, forKey: [1])
        transaction.onPublish { version in
            log.withLock { $0.append(Publication(counter: counter, version: version)) }
        }
    }
}

private func readCounter(_ store: any OrderedStore, _ log: Locked<[Publication]>) throws {
    let announced = log.value.last
    let (version, counter) = try store.read { reader in
        (reader.version, try reader.number(forKey: [1]))
    }
    try require(
        version >= (announced?.version ?? 0), "a reader got \(version) after \(announced?.version ?? 0) was announced")
    // Everything up to the reader's version was announced before the reader could start.
    let expected = log.value.last { $0.version <= version }
    try requireEqual(counter, expected?.counter, "the counter at version \(version)")
}
