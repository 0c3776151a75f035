// A range of keys, named here because this target does not know the store's own type.

/// Keys from `lower` up to but not including `upper`, in byte order.
package struct LayoutRange: Hashable, Sendable {
    package var lower: [UInt8]
    package var upper: [UInt8]

    package init(lower: [UInt8], upper: [UInt8]) {
        self.lower = lower
        self.upper = upper
    }

    /// Whether `key` lies in the range.
    package func contains(_ key: [UInt8]) -> Bool {
        !key.lexicographicallyPrecedes(lower) && key.lexicographicallyPrecedes(upper)
    }
}
