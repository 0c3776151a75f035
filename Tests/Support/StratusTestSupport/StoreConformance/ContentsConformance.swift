// What every place for large contents does: parts are written, read, listed and removed.

package import StratusStore

/// Checks of `StoreContents`. Each begins and ends with an empty place.
package enum ContentsConformance {
    package struct Check: Sendable, CustomStringConvertible {
        package let description: String
        private let body: @Sendable (any StoreContents) throws -> Void

        init(_ description: String, _ body: @escaping @Sendable (any StoreContents) throws -> Void) {
            self.description = description
            self.body = body
        }

        /// Throws `ConformanceFailure` or what the contents throw.
        package func run(on contents: any StoreContents) throws {
            try requireEqual(try contents.names(after: nil, limit: 1), [], "contents before the check")
            try body(contents)
            for name in try contents.names(after: nil, limit: 1_000) {
                while try !contents.remove(name, limit: 100) {}
            }
        }
    }

    package static let checks: [Check] = [
        Check("parts are read as they were written, in any order, and absent ones are nil") { contents in
            let parts = try write(33, to: [1], contents)
            for index in [32, 0, 15, 16, 17] {
                try requireEqual(try contents.part(index, of: [1]), parts[index], "part \(index)")
            }
            try requireEqual(try contents.part(33, of: [1]), nil, "the part after the last")
            try requireEqual(try contents.part(0, of: [2]), nil, "a part of another name")
            try requireEqual(try contents.part(0, of: [1, 0]), nil, "a part of a longer name")
        },

        Check("an empty part is there") { contents in
            try contents.append([[]], from: 0, to: [1])
            try requireEqual(try contents.part(0, of: [1]), [], "the part")
            try requireEqual(try contents.names(after: nil, limit: 9), [[1]], "names")
        },

        Check("any bytes may be a name and a part") { contents in
            let bytes = (0...255).map { UInt8($0) } + [0, 0]
            for name in [[0], [0, 0], [255], bytes] {
                try contents.append([bytes], from: 0, to: name)
                try requireEqual(try contents.part(0, of: name), bytes, "the part")
            }
        },

        Check("names are listed once each, in byte order, page by page") { contents in
            let names: [[UInt8]] = [[0], [0, 1], [1], [1, 0, 0], [127], [128], [255, 255]]
            for name in names.reversed() { _ = try write(3, to: name, contents) }
            try requireEqual(try contents.names(after: nil, limit: 100), names, "all names")
            var (found, last): ([[UInt8]], [UInt8]?) = ([], nil)
            while true {
                let page = try contents.names(after: last, limit: 2)
                guard let end = page.last else { break }
                found += page
                last = end
            }
            try requireEqual(found, names, "names in pages")
            try requireEqual(try contents.names(after: [1, 0], limit: 1), [[1, 0, 0]], "the next name")
        },

        Check("a removal says whether parts are left, and a name is listed until the last is gone") { contents in
            _ = try write(20, to: [1], contents)
            _ = try write(1, to: [2], contents)
            try requireEqual(try contents.remove([1], limit: 7), false, "whether all are gone")
            try requireEqual(try contents.names(after: nil, limit: 9), [[1], [2]], "names")
            while try !contents.remove([1], limit: 7) {}
            try requireEqual(try contents.names(after: nil, limit: 9), [[2]], "names afterwards")
            try requireEqual(try contents.remove([1], limit: 7), true, "whether all are gone")
            try requireEqual(try contents.part(0, of: [2])?.count, 1, "bytes of the other")
        },

        Check("the clock goes forward and shows this century") { contents in
            let first = try contents.milliseconds()
            let second = try contents.milliseconds()
            guard second >= first, first > 1_700_000_000_000 else {
                throw ConformanceFailure("the clock shows \(first), then \(second)")
            }
        },

        Check("several threads write and remove contents side by side") { contents in
            try TestThreads.run(8) { thread in
                for round in 0..<4 {
                    let name = [UInt8(thread), UInt8(round)]
                    let parts = try write(5, to: name, contents)
                    try requireEqual(try contents.part(4, of: name), parts[4], "the last part")
                    if round % 2 == 0 { while try !contents.remove(name, limit: 2) {} }
                }
            }
            try requireEqual(try contents.names(after: nil, limit: 100).count, 16, "names")
        },
    ]

    /// Writes a content of whole parts and a short last one. Returns its parts.
    private static func write(_ count: Int, to name: [UInt8], _ contents: any StoreContents) throws -> [[UInt8]] {
        let parts = (0..<count).map { index in
            [UInt8](repeating: UInt8(truncatingIfNeeded: index), count: index < count - 1 ? contents.partByteCount : 1)
        }
        for start in stride(from: 0, to: count, by: 16) {
            try contents.append(Array(parts[start...].prefix(16)), from: start, to: name)
        }
        return parts
    }
}
