// A store with a place for large contents, in memory, around any other store.

package import StratusStore

/// Large contents in memory. It refuses what a server would refuse.
package final class MemoryContents: StoreContents {
    private struct State: Sendable {
        var parts: [[UInt8]: [Int: [UInt8]]] = [:]
        var largestAppend = 0
        var failure: (append: Int, error: StoreError)?
    }

    package let partByteCount: Int
    private let state = Locked(State())
    private let now: @Sendable () -> UInt64
    private let nextAppend = Locked<(@Sendable () -> Void)?>(nil)

    /// `now` is the store's clock in milliseconds.
    package init(partByteCount: Int = 1_000, now: @escaping @Sendable () -> UInt64) {
        self.partByteCount = partByteCount
        self.now = now
    }

    package func append(_ parts: [[UInt8]], from index: Int, to name: [UInt8]) throws {
        nextAppend.withLock { $0.take() }?()
        try state.withLock { state in
            if let (append, error) = state.failure {
                state.failure = append > 1 ? (append - 1, error) : nil
                if append == 1 { throw error }
            }
            for (offset, part) in parts.enumerated() {
                guard parts.count <= 16, part.count <= partByteCount,
                    part.count == partByteCount || offset == parts.count - 1,
                    state.parts[name]?[index + offset] == nil
                else { throw StoreError(.invalidRequest, "A server would refuse these parts.") }
                state.parts[name, default: [:]][index + offset] = part
            }
            state.largestAppend = max(state.largestAppend, parts.reduce(0) { $0 + $1.count })
        }
    }

    package func part(_ index: Int, of name: [UInt8]) -> [UInt8]? { state.withLock { $0.parts[name]?[index] } }

    package func names(after name: [UInt8]?, limit: Int) -> [[UInt8]] {
        let all = state.withLock { Array($0.parts.keys) }
        let sorted = all.sorted { $0.lexicographicallyPrecedes($1) }
        return Array(sorted.filter { name?.lexicographicallyPrecedes($0) ?? true }.prefix(limit))
    }

    package func remove(_ name: [UInt8], limit: Int) -> Bool {
        state.withLock { state in
            guard var parts = state.parts[name] else { return true }
            for index in parts.keys.sorted().prefix(limit) { parts[index] = nil }
            state.parts[name] = parts.isEmpty ? nil : parts
            return parts.isEmpty
        }
    }

    package func milliseconds() -> UInt64 { now() }

    /// The number of contents.
    package var count: Int { state.withLock { $0.parts.count } }

    /// The most bytes that came at once.
    package var largestAppend: Int { state.withLock { $0.largestAppend } }

    /// Changes a part, or removes it, as a damaged disk would.
    package func damage(_ index: Int, of name: [UInt8], to part: [UInt8]?) {
        state.withLock { $0.parts[name]?[index] = part }
    }

    /// Runs `action` at the beginning of the next append.
    package func onNextAppend(_ action: @escaping @Sendable () -> Void) { nextAppend.withLock { $0 = action } }

    /// Lets an append fail, counted from 1.
    package func fail(atAppend number: Int, _ error: StoreError) {
        state.withLock { $0.failure = (number, error) }
    }
}

/// A store with a place for large contents.
package final class ContentsStore: StoreWrapper {
    package let wrapped: any OrderedStore
    package let memory: MemoryContents
    package var contents: (any StoreContents)? { memory }

    package init(_ wrapped: any OrderedStore, _ memory: MemoryContents) {
        self.wrapped = wrapped
        self.memory = memory
    }
}
