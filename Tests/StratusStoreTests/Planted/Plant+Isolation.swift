// Planted faults of isolation and atomicity.

@testable import StratusStore
import StratusTestSupport

extension Plant {
    static let isolation: [Plant] = [
        Plant(
            "reads of a transaction happen outside the lane",
            foundBy: [
                "no update is lost when many threads increment one number",
                "no update is lost when threads append to one another's keys",
            ]
        ) { OptimisticStore($0, .nothing) },
        Plant(
            "only written keys are validated",
            foundBy: [
                "no write skew: of two that each rely on the other's key, one sees the other's write",
                "no phantom by insert: two that find a range empty do not both fill it",
                "no phantom by delete: two that find two entries do not both delete theirs",
            ]
        ) { OptimisticStore($0, .writtenKeys) },
        Plant(
            "a transaction is published write by write",
            foundBy: ["every reader sees whole transactions only, while threads move amounts between keys"]
        ) { OptimisticStore($0, .appliedOneByOne) },
        Plant(
            "a reader asks for the newest state each time",
            foundBy: [
                "a snapshot stays as it was while others write",
                "a read of the whole store during writes shows one moment, or at least pages of one",
            ]
        ) { store in
            HookedStore(store) {
                var hooks = Hooks()
                hooks.visitValue = { reader, key, body in
                    guard !(reader is any StoreTransaction) else { return try reader.visitValue(forKey: key, body) }
                    return try store.read { try $0.visitValue(forKey: key, body) }
                }
                hooks.scan = { reader, range, direction, limit, visit in
                    guard !(reader is any StoreTransaction) else {
                        return try reader.scan(range, direction, limit: limit, visit)
                    }
                    try store.read { try $0.scan(range, direction, limit: limit, visit) }
                }
                return hooks
            }
        },
        Plant(
            "a scan asks for the newest state at each step",
            foundBy: [
                "a scan stays as it was while others write between its steps",
                "a scan sees what had been written when it began, whatever its visitor writes",
            ]
        ) { store in
            HookedStore(store) {
                var hooks = Hooks()
                hooks.scan = { reader, range, direction, limit, visit in
                    func first(_ rest: KeyRange) throws -> (key: [UInt8], value: [UInt8])? {
                        guard !(reader is any StoreTransaction) else { return try firstEntry(rest, direction, reader) }
                        return try store.read { try firstEntry(rest, direction, $0) }
                    }
                    try scanLive(range, direction, limit: limit, first, visit)
                }
                return hooks
            }
        },
        Plant(
            "what a failing body wrote is committed",
            foundBy: [
                "an error of a body undoes everything it wrote and comes out as it is",
                "conflicts are retried up to the limit, and then handed on",
            ]
        ) { store in
            HookedStore(store) { Hooks(keepsFailedWrites: true) }
        },
    ]
}

private func firstEntry(
    _ range: KeyRange, _ direction: ScanDirection, _ reader: any StoreReader
) throws -> (key: [UInt8], value: [UInt8])? {
    var entry: (key: [UInt8], value: [UInt8])?
    try reader.scan(range, direction, limit: 1) { key, value in
        entry = ([UInt8](copying: key), [UInt8](copying: value))
        return .next
    }
    return entry
}

/// Scans by looking for the first entry of the rest of the range, repeatedly.
private func scanLive(
    _ range: KeyRange, _ direction: ScanDirection, limit: Int,
    _ first: (KeyRange) throws -> (key: [UInt8], value: [UInt8])?, _ visit: Hooks.EntryVisitor
) throws {
    var rest = range
    var visitCount = 0
    while visitCount < limit, let (key, value) = try first(rest) {
        visitCount += 1
        guard case .next = try visit(key.span, value.span) else { return }
        switch direction {
        case .forward: rest.lower = key + [0]
        case .backward: rest.upper = key
        }
    }
}
