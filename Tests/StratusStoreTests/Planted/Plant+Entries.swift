// Planted faults of keys, values and scans.

@testable import StratusStore
import StratusTestSupport
import Synchronization

extension Plant {
    static let values: [Plant] = [
        Plant("an empty value is taken for a missing one", foundBy: ["an empty value is not a missing value"]) {
            store in
            HookedStore(store) {
                Hooks(visitValue: { reader, key, body in
                    guard try reader.value(forKey: key)?.isEmpty == false else { return false }
                    return try reader.visitValue(forKey: key, body)
                })
            }
        },
        Plant(
            "bytes are ordered as signed",
            foundBy: ["keys are ordered as unsigned bytes, a prefix before what it begins"]
        ) {
            store in mapKeys(of: store) { $0.map { $0 ^ 0x80 } }
        },
        Plant("keys end at their first 00", foundBy: ["keys and values are any bytes, 00 and FF included"]) { store in
            mapKeys(of: store) { Array($0.prefix { $0 != 0 }) }
        },
        Plant(
            "writes over the limits are dropped in silence",
            foundBy: [
                "a key of the largest length is kept, one byte more is refused",
                "a value of the largest length is kept, one byte more is refused",
                "a transaction of the largest size is committed, one byte more is refused",
                "a refused write changes nothing, and its transaction may go on",
            ]
        ) { store in
            HookedStore(store) {
                Hooks(
                    set: { transaction, key, value in try? transaction.set(key, to: value) },
                    delete: { transaction, key in try? transaction.delete(key) })
            }
        },
        Plant(
            "many keys at once are looked up beside their transaction",
            foundBy: [
                "thousands of keys at once, repeated, absent, just written or deleted, give what each gives alone"
            ]
        ) { store in
            HookedStore(store) { Hooks(values: { _, keys in try store.read { try $0.values(forKeys: keys) } }) }
        },
        Plant(
            "announced keys are looked up at once, and counted",
            foundBy: ["announcing reads costs nothing and changes no answer, however much is announced"]
        ) { store in
            HookedStore(store) {
                Hooks(prefetch: { reader, keys in for key in keys { _ = try? reader.contains(key) } })
            }
        },
        Plant(
            "keys and values count, and ranges that may conflict do not",
            foundBy: [
                "a transaction counts its writes, and the ranges that it reads or writes, whatever they hold",
                "a transaction of the largest size is committed, one byte more is refused",
            ]
        ) { store in
            HookedStore(store) { Hooks(countedByteCount: { $0.cost.bytesWritten }) }
        },
        Plant(
            "the answers of look-ups are counted as scans",
            foundBy: ["a reader's costs are its look-ups, its scans and the entries they visit"]
        ) { store in
            HookedStore(store) {
                Hooks(cost: { reader in
                    var cost = reader.cost
                    (cost.seeks, cost.pointReads) = (cost.seeks + cost.pointReads, 0)
                    return cost
                })
            }
        },
    ]

    /// A caller that expects writes is believed: earlier contents of the range, or writes to it, are missing.
    static let expectations: [Plant] = [true, false].map { noticesWrites in
        Plant(
            noticesWrites ? "a range is believed to be empty" : "what is written into an empty range is not noticed",
            foundBy: ["writes that are expected in a range change no answer, whether it was empty or not"]
        ) { store in
            let believed = Locked<(ranges: [KeyRange], written: Set<[UInt8]>)>(([], []))
            return HookedStore(store) {
                Hooks(
                    visitValue: { reader, key, body in
                        let isMissed = believed.withLock { state in
                            !state.written.contains(key) && state.ranges.contains { $0.holds(key) }
                        }
                        return try !isMissed && reader.visitValue(forKey: key, body)
                    },
                    set: { transaction, key, value in
                        try transaction.set(key, to: value)
                        believed.withLock { state in
                            guard noticesWrites, state.ranges.contains(where: { $0.holds(key) }) else { return }
                            state.written.insert(key)
                        }
                    },
                    expectWrites: { range in believed.withLock { $0.ranges.append(range) } })
            }
        }
    }

    static let scans: [Plant] = [
        Plant(
            "a scan includes its upper bound",
            foundBy: ["a scan visits exactly its range, in both directions, wherever the bounds lie"]
        ) { store in
            HookedStore(store) {
                Hooks(scan: { reader, range, direction, limit, visit in
                    let range = KeyRange(from: range.lower, upTo: range.upper + [0])
                    try reader.scan(range, direction, limit: limit, visit)
                })
            }
        },
        Plant("a scan knows no limit", foundBy: ["a scan ends at its limit, or when its visitor says stop"]) { store in
            HookedStore(store) {
                Hooks(scan: { reader, range, direction, _, visit in try reader.scan(range, direction, visit) })
            }
        },
        Plant(
            "a scan backward goes forward",
            foundBy: ["a scan merges a transaction's sets and deletes with what was there"]
        ) { store in
            HookedStore(store) {
                Hooks(scan: { reader, range, _, limit, visit in
                    try reader.scan(range, .forward, limit: limit, visit)
                })
            }
        },
        Plant(
            "a scan forgets its transaction's deletes",
            foundBy: [
                "a scan merges a transaction's sets and deletes with what was there",
                "a scan forgets neither its transaction's deletes nor what lies behind them",
                "random histories of reads, scans, transactions and reopenings give what a dictionary gives",
                "random histories give the same with every body run twice",
            ]
        ) { store in
            HookedStore(store) {
                // A second transaction without knowledge of deletes answers the scans.
                let tree = store.published.withLock { $0.tree }
                let deaf = MemoryTransaction(tree: tree, version: 0)
                return Hooks(
                    scan: { reader, range, direction, limit, visit in
                        let scanned = reader is any StoreTransaction ? deaf : reader
                        try scanned.scan(range, direction, limit: limit, visit)
                    },
                    set: { transaction, key, value in
                        try transaction.set(key, to: value)
                        try deaf.set(key, to: value)
                    })
            }
        },
        Plant(
            "a transaction's look-ups miss its own writes",
            foundBy: ["a transaction finds what it wrote, and misses what it deleted"]
        ) { store in
            HookedStore(store) {
                Hooks(visitValue: { _, key, body in try store.read { try $0.visitValue(forKey: key, body) } })
            }
        },
        Plant(
            "an error of a visitor is swallowed",
            foundBy: ["an error of a visitor ends the scan and comes out as it is"]
        ) { store in
            HookedStore(store) {
                Hooks(scan: { reader, range, direction, limit, visit in
                    try? reader.scan(range, direction, limit: limit, visit)
                })
            }
        },
    ]
}

private func mapKeys(of store: MemoryStore, _ map: @escaping @Sendable ([UInt8]) -> [UInt8]) -> HookedStore {
    HookedStore(store) {
        Hooks(
            visitValue: { reader, key, body in try reader.visitValue(forKey: map(key), body) },
            scan: { reader, range, direction, limit, visit in
                let range = KeyRange(from: map(range.lower), upTo: map(range.upper))
                try reader.scan(range, direction, limit: limit) { key, value in
                    let key = map([UInt8](copying: key))
                    return try visit(key.span, value)
                }
            },
            set: { transaction, key, value in try transaction.set(map(key), to: value) },
            delete: { transaction, key in try transaction.delete(map(key)) })
    }
}

extension KeyRange {
    fileprivate func holds(_ key: [UInt8]) -> Bool {
        !key.lexicographicallyPrecedes(lower) && key.lexicographicallyPrecedes(upper)
    }
}
