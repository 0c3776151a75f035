// The range that holds every key of a store.

import StratusStore

extension KeyRange {
    /// Longer than any key, so that it is behind all of them.
    static let everything = KeyRange(
        from: [], upTo: [UInt8](repeating: 0xFF, count: StoreLimits.maximumKeyByteCount + 1))
}
