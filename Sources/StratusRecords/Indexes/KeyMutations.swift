// The writes of a plan: keys and values in one block of bytes.
//
// A plan has ten keys and values for each record. In one block they need no allocations of their own, and the builders
// of the layout append to it directly.

import StratusLayout

/// Keys that are set or deleted, in the order in which they were added.
package struct KeyMutations: Sendable {
    /// The place of a mutation in the block: its key, followed by its value.
    private struct Place {
        var start: Int
        var keyEnd: Int
        /// Nil for a deletion.
        var valueEnd: Int?
    }

    private var bytes: [UInt8] = []
    private var places: [Place] = []

    package var isEmpty: Bool { places.isEmpty }
    package var count: Int { places.count }
    /// The bytes of all keys and values.
    package var byteCount: Int { bytes.count }

    mutating func reserveCapacity(_ count: Int, byteCount: Int) {
        places.reserveCapacity(count)
        bytes.reserveCapacity(byteCount)
    }

    // MARK: Adding

    /// Sets the key that `appendKey` writes to the value that `appendValue` writes; each only appends.
    mutating func set(
        _ appendValue: (inout [UInt8]) throws -> Void, forKey appendKey: (inout [UInt8]) -> Void
    ) rethrows {
        let start = bytes.count
        appendKey(&bytes)
        let keyEnd = bytes.count
        try appendValue(&bytes)
        places.append(Place(start: start, keyEnd: keyEnd, valueEnd: bytes.count))
    }

    /// Sets the key that `appendKey` writes.
    mutating func set(_ value: some LayoutValue, forKey appendKey: (inout [UInt8]) -> Void) {
        set({ value.append(to: &$0) }, forKey: appendKey)
    }

    mutating func set(_ value: [UInt8], forKey key: [UInt8]) {
        set({ $0.append(contentsOf: value) }, forKey: { $0.append(contentsOf: key) })
    }

    /// Deletes the key that `appendKey` writes.
    mutating func delete(_ appendKey: (inout [UInt8]) -> Void) {
        let start = bytes.count
        appendKey(&bytes)
        places.append(Place(start: start, keyEnd: bytes.count, valueEnd: nil))
    }

    /// Removes the mutations from number `index` on.
    mutating func removeAll(from index: Int) {
        guard index < places.count else { return }
        bytes.removeSubrange(places[index].start...)
        places.removeSubrange(index...)
    }

    // MARK: Reading

    /// Visits every mutation in place. The spans are valid only during the call.
    package func visit(
        set: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> Void, delete: (_ key: Span<UInt8>) throws -> Void
    ) rethrows {
        let bytes = bytes.span
        for place in places {
            let key = bytes.extracting(place.start..<place.keyEnd)
            if let valueEnd = place.valueEnd {
                try set(key, bytes.extracting(place.keyEnd..<valueEnd))
            } else {
                try delete(key)
            }
        }
    }

    /// Visits every mutation; the value is nil where the key is deleted.
    package func forEach(_ visit: (_ key: [UInt8], _ value: [UInt8]?) throws -> Void) rethrows {
        for place in places {
            try visit(
                Array(bytes[place.start..<place.keyEnd]), place.valueEnd.map { Array(bytes[place.keyEnd..<$0]) })
        }
    }
}
