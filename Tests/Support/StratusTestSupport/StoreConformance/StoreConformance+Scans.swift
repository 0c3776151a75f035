// Scans: exact bounds, both directions, limits, stopping, nesting, and errors of the visitor.

internal import StratusStore

private let evens: [Entry] = (0..<50).map { Entry([$0 * 2], [$0]) }

extension StoreConformance {
    static let scanChecks: [Check] = [
        Check("a scan visits exactly its range, in both directions, wherever the bounds lie") { store in
            try store.set(evens)
            try store.read { reader in
                for lower in stride(from: UInt8(0), through: 100, by: 3) {
                    for upper in stride(from: UInt8(0), through: 100, by: 5) {
                        let range = KeyRange(from: [lower], upTo: [upper])
                        let expected = evens.filter { $0.key[0] >= lower && $0.key[0] < upper }
                        try requireEqual(try reader.entries(range), expected, "\(lower)..<\(upper)")
                        try requireEqual(
                            try reader.entries(range, .backward), expected.reversed(), "\(lower)..<\(upper) backward")
                    }
                }
            }
        },

        Check("a scan ends at its limit, or when its visitor says stop") { store in
            try store.set(evens)
            try store.read { reader in
                for limit in [0, 1, 2, 49, 50, 51, Int.max] {
                    let range = KeyRange.everything
                    try requireEqual(
                        try reader.entries(range, limit: limit), Array(evens.prefix(limit)), "limit \(limit)")
                    try requireEqual(
                        try reader.entries(range, .backward, limit: limit), Array(evens.reversed().prefix(limit)),
                        "limit \(limit) backward")
                }
                for direction in [ScanDirection.forward, .backward] {
                    var visitCount = 0
                    try reader.scan(.everything, direction) { _, _ in
                        visitCount += 1
                        return visitCount == 7 ? .stop : .next
                    }
                    try requireEqual(visitCount, 7, "visits before the stop, \(direction)")
                }
            }
        },

        Check("a range whose bounds are equal or the wrong way round is empty") { store in
            try store.set(evens)
            try store.read { reader in
                for range in [
                    KeyRange(from: [4], upTo: [4]), KeyRange(from: [8], upTo: [4]), KeyRange(from: [], upTo: []),
                ] {
                    try requireEqual(try reader.entries(range), [], "forward \(range)")
                    try requireEqual(try reader.entries(range, .backward), [], "backward \(range)")
                }
            }
        },

        Check("scans may be nested, with look-ups between their steps") { store in
            try store.set(evens)
            for isTransaction in [false, true] {
                func nest(_ reader: any StoreReader) throws {
                    var found: [[UInt8]] = []
                    try reader.scan(KeyRange(from: [0], upTo: [10])) { outerKey, _ in
                        let outer = outerKey[0]
                        try reader.scan(KeyRange(from: [outer], upTo: [10]), .backward) { innerKey, innerValue in
                            try requireEqual(try reader.value(forKey: [outer]), [outer / 2], "a look-up")
                            found.append([outer, innerKey[0], innerValue[0]])
                            return .next
                        }
                        return .next
                    }
                    let expected = stride(from: UInt8(0), to: 10, by: 2).flatMap { outer in
                        stride(from: UInt8(8), through: outer, by: -2).map { [outer, $0, $0 / 2] }
                    }
                    try requireEqual(found, expected, "pairs")
                }
                if isTransaction {
                    try store.transact { try nest($0) }
                } else {
                    try store.read { try nest($0) }
                }
            }
        },

        Check("an error of a visitor ends the scan and comes out as it is") { store in
            struct Planned: Error {}
            try store.set(evens)
            for direction in [ScanDirection.forward, .backward] {
                var visitCount = 0
                do {
                    try store.read { reader in
                        try reader.scan(.everything, direction) { _, _ in
                            visitCount += 1
                            if visitCount == 3 { throw Planned() }
                            return .next
                        }
                    }
                    throw ConformanceFailure("nothing was thrown")
                } catch is Planned {}
                try requireEqual(visitCount, 3, "visits")
                do {
                    _ = try store.read { try $0.visitValue(forKey: [2]) { _ in throw Planned() } }
                    throw ConformanceFailure("nothing was thrown by a look-up")
                } catch is Planned {}
            }
            try requireEqual(try store.entries(), evens, "entries afterwards")
        },
    ]
}
