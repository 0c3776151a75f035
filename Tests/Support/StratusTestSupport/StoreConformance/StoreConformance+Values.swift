// Keys and values: any bytes, in unsigned order, and an empty value is a value.

internal import StratusStore

extension StoreConformance {
    static let valueChecks: [Check] = [
        Check("an absent key has no value") { store in
            try store.read { reader in
                try requireEqual(try reader.value(forKey: [1]), nil, "value")
                try requireEqual(try reader.contains([1]), false, "contains")
                try requireEqual(try reader.values(forKeys: [[1], [2]]), [nil, nil], "values")
                try requireEqual(try reader.entries(), [], "entries")
            }
        },

        Check("a value that was set is found, replaced and deleted") { store in
            try store.set([Entry([1], [10]), Entry([2], [20])])
            try requireEqual(try store.entries(), [Entry([1], [10]), Entry([2], [20])], "after setting")
            try store.set([Entry([1], [11, 12])])
            try requireEqual(try store.entries(), [Entry([1], [11, 12]), Entry([2], [20])], "after replacing")
            try store.transact { try $0.delete([1]) }
            try requireEqual(try store.entries(), [Entry([2], [20])], "after deleting")
            try store.transact { try $0.delete([1]) }
            try requireEqual(try store.entries(), [Entry([2], [20])], "after deleting what is absent")
            try store.set([Entry([1], [13])])
            try requireEqual(try store.entries(), [Entry([1], [13]), Entry([2], [20])], "after setting again")
        },

        Check("an empty value is not a missing value") { store in
            func requireEmpty(_ reader: any StoreReader, _ place: String) throws {
                try requireEqual(try reader.value(forKey: [1]), [], "value \(place)")
                try requireEqual(try reader.contains([1]), true, "contains \(place)")
                try requireEqual(try reader.values(forKeys: [[1], [2]]), [[], nil], "values \(place)")
                try requireEqual(try reader.entries(), [Entry([1], [])], "entries \(place)")
            }
            try store.transact { transaction in
                try transaction.set([1], to: [])
                try requireEmpty(transaction, "in its own transaction")
            }
            try store.read { try requireEmpty($0, "in a reader") }
            try store.transact { try requireEmpty($0, "in a later transaction") }
        },

        Check("writes that are expected in a range change no answer, whether it was empty or not") { store in
            let (empty, full) = (KeyRange(from: [1], upTo: [2]), KeyRange(from: [3], upTo: [4]))
            try store.set([Entry([3, 7], [37])])
            try store.transact { transaction in
                try transaction.set([3, 8], to: [38])
                for range in [empty, full] { transaction.expectWrites(intoEmpty: range) }
                try transaction.set([1, 1], to: [11])
            }
            try? store.transact { transaction in
                try transaction.set([1, 2], to: [12])
                throw ConformanceFailure("planned")
            }
            func requireAll(_ keys: [[UInt8]]) throws {
                try store.transact { transaction in
                    for first in UInt8(0)...4 {
                        for second in UInt8(0)...9 {
                            let isThere = keys.contains([first, second])
                            let found = try transaction.contains([first, second])
                            try requireEqual(found, isThere, "whether \(first) \(second) is there")
                        }
                    }
                }
            }
            try requireAll([[1, 1], [3, 7], [3, 8]])
            try store.transact { transaction in
                try transaction.delete([1, 1])
                try transaction.set([1, 3], to: [13])
            }
            try requireAll([[1, 3], [3, 7], [3, 8]])
            try store.transact { transaction in
                transaction.expectWrites(intoEmpty: empty)
                try transaction.set([1, 1], to: [11])
            }
            try requireAll([[1, 1], [1, 3], [3, 7], [3, 8]])
        },

        Check("keys and values are any bytes, 00 and FF included") { store in
            let parts: [[UInt8]] = [[0x00], [0xFF], [0x00, 0xFF], [0xFF, 0x00], [0x61], [0x80], [0x0A, 0x0D]]
            var expected: [[UInt8]: [UInt8]] = [:]
            for first in parts {
                for second in parts { expected[first + second + first] = second + [0x00] + first }
            }
            try store.set(expected.map { Entry($0.key, $0.value) })
            try store.read { reader in
                for (key, value) in expected {
                    try requireEqual(try reader.value(forKey: key), value, "value of \(key)")
                    for near in [key + [0x00], Array(key.dropLast()), Array(key.dropFirst())] {
                        try requireEqual(try reader.value(forKey: near), expected[near], "value of \(near)")
                    }
                }
            }
        },

        Check("keys are ordered as unsigned bytes, a prefix before what it begins") { store in
            let ascending: [[UInt8]] = [
                [0x00], [0x00, 0x00], [0x00, 0xFF], [0x01], [0x01, 0x00], [0x7F], [0x7F, 0xFF], [0x80], [0x80, 0x00],
                [0xFE, 0xFF], [0xFF], [0xFF, 0x00], [0xFF, 0xFE, 0xFF], [0xFF, 0xFF],
            ]
            var random = SplitMix64(seed: 1)
            try store.set(ascending.shuffled(using: &random).map { Entry($0, [1]) })
            try store.read { reader in
                try requireEqual(try reader.entries().map(\.key), ascending, "forward")
                try requireEqual(
                    try reader.entries(.everything, .backward).map(\.key), ascending.reversed(), "backward")
            }
        },

        Check("many keys at once are answered in the order asked, repeated ones included") { store in
            try store.set((0..<20).map { Entry([$0], [$0, $0]) })
            let keys: [[UInt8]] = [[7], [3], [99], [7], [0], [19]]
            let found = try store.read { try $0.values(forKeys: keys) }
            try requireEqual(found, [[7, 7], [3, 3], nil, [7, 7], [0, 0], [19, 19]], "values")
        },
    ]
}
