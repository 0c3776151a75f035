// The limits hold on every store, at the boundary: what fits is stored completely, what does not is refused and changes
// nothing.

internal import StratusStore

extension StoreConformance {
    static let limitChecks: [Check] = [
        Check("a key of the largest length is kept, one byte more is refused") { store in
            let largest = [UInt8](repeating: 0x61, count: StoreLimits.maximumKeyByteCount)
            try store.set([Entry(largest, [1])])
            try requireEqual(try store.entries(), [Entry(largest, [1])], "entries")
            for operation in ["set", "delete"] {
                try requireStoreError(.tooLarge, "\(operation) of a longer key") {
                    try store.transact { transaction in
                        if operation == "set" {
                            try transaction.set(largest + [0], to: [])
                        } else {
                            try transaction.delete(largest + [0])
                        }
                    }
                }
            }
            try requireEqual(try store.entries(), [Entry(largest, [1])], "entries afterwards")
        },

        Check("a value of the largest length is kept, one byte more is refused") { store in
            let largest = [UInt8](repeating: 0x62, count: StoreLimits.maximumValueByteCount)
            try store.set([Entry([1], largest)])
            try requireEqual(try store.entries(), [Entry([1], largest)], "entries")
            try requireStoreError(.tooLarge, "a longer value") { try store.set([Entry([1], largest + [0])]) }
            try requireEqual(try store.entries(), [Entry([1], largest)], "entries afterwards")
        },

        Check("a transaction of the largest size is committed, one byte more is refused") { store in
            // Each entry is 100,000 bytes with its key of four.
            let value = [UInt8](repeating: 0x63, count: 99_996)
            let entryCount = StoreLimits.maximumTransactionByteCount / 100_000
            func fill(_ transaction: any StoreTransaction) throws {
                for index in 0..<entryCount { try transaction.set([9, 9, 9, UInt8(index)], to: value) }
            }
            for refused in ["set", "delete"] {
                try requireStoreError(.tooLarge, "one more \(refused)") {
                    try store.transact { transaction in
                        try fill(transaction)
                        if refused == "set" {
                            try transaction.set([1], to: [])
                        } else {
                            try transaction.delete([1])
                        }
                    }
                }
                try requireEqual(try store.entries().count, 0, "entries after a refusal")
            }
            try store.transact { try fill($0) }
            try requireEqual(try store.entries().count, entryCount, "entries")
        },

        Check("a refused write changes nothing, and its transaction may go on") { store in
            try store.set([Entry([1], [1])])
            try store.transact { transaction in
                try transaction.set([2], to: [2])
                let tooLong = [UInt8](repeating: 0, count: StoreLimits.maximumValueByteCount + 1)
                try requireStoreError(.tooLarge, "a long value") { try transaction.set([1], to: tooLong) }
                try requireEqual(try transaction.value(forKey: [1]), [1], "the value in the transaction")
                try requireEqual(transaction.hasUnpublishedWrite(forKey: [1]), false, "an unpublished write")
            }
            try requireEqual(try store.entries(), [Entry([1], [1]), Entry([2], [2])], "entries")
        },
    ]
}
