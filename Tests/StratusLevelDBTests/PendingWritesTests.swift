// The pending writes of a group against a naive dictionary and a sorted array.

import StratusStore
import StratusTestSupport
import Testing

@testable import StratusLevelDB

@Suite struct PendingWritesTests {
    @Test("pending writes behave like a dictionary, also after undoing", arguments: [1, 2, 3] as [UInt64])
    func agreesWithADictionary(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var writes = PendingWrites()
        var model: [[UInt8]: [UInt8]?] = [:]
        for round in 0..<60 {
            let mark = writes.mark
            let before = model
            for _ in 0..<Int.random(in: 0...120, using: &random) {
                let key = Self.key(&random)
                if Int.random(in: 0..<4, using: &random) == 0 {
                    writes.delete(key)
                    model[key] = .some(nil)
                } else {
                    let value = (0..<Int.random(in: 0...40, using: &random)).map { _ in UInt8.random(in: 0...255) }
                    writes.set(key.span, to: value.span)
                    model[key] = value
                }
            }
            if Bool.random(using: &random) {
                writes.undo(to: mark)
                model = before
            }
            let expected = model.sorted { $0.key.lexicographicallyPrecedes($1.key) }
            let found = Self.contents(writes)
            #expect(found.map(\.key) == expected.map(\.key), "seed \(seed), round \(round)")
            #expect(found.map(\.value) == expected.map(\.value), "seed \(seed), round \(round)")
            #expect(Self.backward(writes) == expected.reversed().map(\.key), "seed \(seed), round \(round)")
            let probe = Self.key(&random)
            #expect(Self.holds(writes, probe) == (model[probe] != nil), "seed \(seed), round \(round)")
            if round % 20 == 19 {
                writes.clear()
                model = [:]
                #expect(writes.isEmpty == true)
                #expect(writes.byteCount == 0)
            }
        }
    }

    @Test("rising and falling keys keep their order over many chunks")
    func keepsRunsInOrder() {
        var rising = PendingWrites()
        var falling = PendingWrites()
        let keys = (0..<3_000).map { [UInt8($0 >> 8), UInt8($0 & 255)] }
        for key in keys { rising.set(key.span, to: key.span) }
        for key in keys.reversed() { falling.set(key.span, to: key.span) }
        #expect(Self.contents(rising).map(\.key) == keys)
        #expect(Self.contents(falling).map(\.key) == keys)
    }

    /// Short keys, and long ones that differ around their eighth and sixteenth byte; zeros among them.
    private static func key(_ random: inout SplitMix64) -> [UInt8] {
        let shared = [0, 0, 6, 7, 8, 14, 15, 16, 20].randomElement(using: &random) ?? 0
        let count = Int.random(in: 0...3, using: &random)
        return [UInt8](repeating: 5, count: shared) + (0..<count).map { _ in UInt8.random(in: 0...20, using: &random) }
    }

    private static func contents(_ writes: borrowing PendingWrites) -> [(key: [UInt8], value: [UInt8]?)] {
        var result: [(key: [UInt8], value: [UInt8]?)] = []
        unsafe writes.forEachNewest { unsafe result.append(($0.key.copied, $0.value?.copied)) }
        return result
    }

    private static func backward(_ writes: borrowing PendingWrites) -> [[UInt8]] {
        var result: [[UInt8]] = []
        let end = [UInt8](repeating: 255, count: 4)
        var position = unsafe end.withEngineBytes { unsafe writes.position(before: $0) }
        while let place = position {
            if let entry = unsafe writes.entry(at: place, before: .max) { unsafe result.append(entry.key.copied) }
            position = writes.position(before: place)
        }
        return result
    }

    private static func holds(_ writes: borrowing PendingWrites, _ key: [UInt8]) -> Bool {
        unsafe key.withEngineBytes { unsafe writes.entry(forKey: $0) != nil }
    }
}

extension EngineBytes {
    /// A copy that may outlive the memory.
    fileprivate var copied: [UInt8] {
        unsafe [UInt8](UnsafeBufferPointer(start: base, count: count))
    }
}
