// LevelDB stores for the conformance suite, and small helpers for tests on directories.

import Foundation
import StratusLevelDB
import StratusStore
import StratusTestSupport
import Testing

/// Gives stores in temporary directories.
struct LevelDBFixture: StoreFixture {
    let name: String
    let options: LevelDBOptions

    init(_ name: String, _ change: (inout LevelDBOptions) -> Void = { _ in }) {
        var options = LevelDBOptions()
        change(&options)
        self.name = name
        self.options = options
    }

    func makePlace() throws -> any StorePlace {
        LevelDBPlace(try TemporaryDirectory(), options)
    }
}

private final class LevelDBPlace: StorePlace {
    private let directory: TemporaryDirectory
    private let options: LevelDBOptions

    init(_ directory: TemporaryDirectory, _ options: LevelDBOptions) {
        self.directory = directory
        self.options = options
    }

    func open() throws -> any OrderedStore {
        try LevelDBStore.open(at: directory.path(of: "store"), options: options)
    }

    func remove() {}
}

/// Runs `body` and returns the `StoreError` it must throw.
func storeError(_ body: () throws -> Void, sourceLocation: SourceLocation = #_sourceLocation) throws -> StoreError {
    do {
        try body()
    } catch let error as StoreError {
        return error
    }
    return try #require(nil as StoreError?, "no error was thrown", sourceLocation: sourceLocation)
}

/// Every entry of a store.
func contents(_ store: LevelDBStore) throws -> [[UInt8]: [UInt8]] {
    try store.read { reader in
        var entries: [[UInt8]: [UInt8]] = [:]
        try reader.scan(KeyRange(from: [], upTo: [UInt8](repeating: 0xFF, count: 9))) { key, value in
            entries[[UInt8](copying: key)] = [UInt8](copying: value)
            return .next
        }
        return entries
    }
}

/// The names of a directory's files with this prefix or suffix.
func files(in path: String, prefix: String = "", suffix: String = "") throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path)
        .filter { $0.hasPrefix(prefix) && $0.hasSuffix(suffix) }.sorted()
}

extension [UInt8] {
    /// A number as four bytes, so that byte order is the numbers'.
    init(number: Int) {
        self = (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
    }

    var number: Int { reduce(0) { $0 << 8 | Int($1) } }
}
