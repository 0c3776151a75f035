// Scenarios, and the faults that their steps may meet.

import StratusLevelDB
import StratusRecords
import StratusStore

/// Steps on a store, each one transaction at most, and deterministic: after a number of steps the store's contents are
/// always the same.
protocol FaultScenario: Sendable {
    var stepCount: Int { get }

    /// Fills a new store.
    func prepare(_ store: LevelDBStore) throws

    /// Begins the steps. Transactions go through `store`, which may be a wrapper; `engine` is the store below it.
    /// `states` are the contents after each number of steps, or empty if they are not known yet.
    func begin(_ store: any OrderedStore, _ engine: LevelDBStore, states: [StoreContents]) throws -> any ScenarioRun

    /// The faults of a reopened store, other than its contents.
    func findings(in store: any OrderedStore) throws -> [String]
}

/// A scenario under way.
protocol ScenarioRun: AnyObject {
    /// Throws the store's error, and `ScenarioViolation` if a read gave a wrong answer.
    func perform(_ step: Int) throws

    /// Whether the step commits nothing, so that its success acknowledges nothing.
    func isSilent(_ step: Int) -> Bool
}

extension ScenarioRun {
    func isSilent(_ step: Int) -> Bool { false }
}

/// An answer that is neither right nor an error.
struct ScenarioViolation: Error, CustomStringConvertible {
    let description: String
}

/// Keys with the fingerprints of their values.
typealias StoreContents = [[UInt8]: [UInt8]]

/// A short value itself; of a long one its length, its beginning and bytes from all over it, which no two steps of a
/// scenario have in common. LevelDB's checksums protect all its bytes.
func fingerprint(_ value: Span<UInt8>) -> [UInt8] {
    guard value.count > 256 else { return [UInt8](copying: value) }
    let length = (0..<4).map { UInt8(truncatingIfNeeded: value.count >> (8 * $0)) }
    let beginning = (0..<64).map { value[$0] }
    return length + beginning + stride(from: 64, to: value.count, by: 97).map { value[$0] }
}

extension StoreReader {
    /// The fingerprint of the value, or nil when the key is absent.
    func fingerprint(forKey key: [UInt8]) throws -> [UInt8]? {
        var result: [UInt8]?
        _ = try visitValue(forKey: key) { result = StratusFaultTests.fingerprint($0) }
        return result
    }
}

/// Every entry, read in one direction.
func contents(_ store: any OrderedStore, _ direction: ScanDirection = .forward) throws -> StoreContents {
    try store.read { reader in
        var entries: StoreContents = [:]
        let everything = KeyRange(from: [], upTo: [UInt8](repeating: 0xFF, count: 16))
        try reader.scan(everything, direction, limit: .max) { key, value in
            entries[[UInt8](copying: key)] = fingerprint(value)
            return .next
        }
        return entries
    }
}

/// An error of the store or of the layer above, as its caller sees it.
struct SeenError: CustomStringConvertible {
    let code: String
    let reason: String?
    let cause: String?
    let description: String

    /// Nil when it is neither.
    init?(_ error: any Error) {
        switch error {
        case let error as StoreError:
            (code, reason, cause) = (error.code.rawValue, error.fields["reason"], error.cause)
        default: return nil
        }
        description = "\(error)"
    }

    /// Whether a caller learns of a failure below.
    var namesCause: Bool {
        guard let cause else { return false }
        switch reason ?? code {
        case "inputOutput", "diskFull": return cause.contains("planned fault")
        case "corruption": return cause.contains("orruption") || cause.contains("planned fault")
        default: return false
        }
    }
}
