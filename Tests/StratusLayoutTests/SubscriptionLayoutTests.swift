// Subscriptions, notifications and undelivered results: their bytes are recorded, and damaged ones never trap. Each is
// decoded only as its key's type, because the values are long and every byte is changed in every bit.

import StratusLayout
import StratusModel
import StratusStore
import StratusTestSupport
import Testing

@Suite("entries of subscriptions")
struct SubscriptionLayoutTests {
    @Test("the bytes and the line of every value of subscriptions are the recorded ones")
    func golden() {
        let lines = LayoutSamples.subscriptionValues.map { entry in
            let value = entry.value.encoded()
            let line = ValueDescription.text(of: value, forKey: entry.key)
            return "\(Hex.text(entry.key)) \(Hex.text(value)) = \(line)"
        }
        #expect(GoldenFile("subscriptions.txt").difference(from: lines.joined(separator: "\n")) == nil)
    }

    @Test("a value round-trips; changed, truncated and longer ones never trap, and decode canonically")
    func damage() throws {
        for entry in LayoutSamples.subscriptionValues { try check(entry.value, forKey: entry.key) }
        let seed = SplitMix64.announced("damaged subscriptions")
        for index in 0..<1_000 {
            var random = seed.generator(forCase: index)
            let entry = random.element(of: LayoutSamples.subscriptionValues)
            let value = entry.value.encoded()
            let bytes = Array(value.prefix(random.below(value.count))) + random.bytes(count: random.below(30))
            for type in [SubscriptionEntry.self, NotificationEntry.self, OutboxEntry.self] as [any LayoutValue.Type] {
                let isSame = isCanonical(bytes, type)
                #expect(isSame)
            }
        }
    }

    @Test("a value that no notification can carry is not written")
    func uncarried() throws {
        let fields: [FieldKey: FieldValue] = [
            "bytes": .bytes([1]), "list": .list([.int64(1)]), "text": .string("t"),
            "asset": .asset(AssetDescriptor(digest: [1], byteCount: 1)),
        ]
        let match = QueryMatch(user: "u", subscription: "s", reason: 1, record: "r", fields: fields)
        let entry = OutboxEntry(
            container: "c", owner: nil, zone: "z", zoneNumber: ZoneNumber(1), identity: LayoutSamples.first,
            sequence: 1, news: .matches([match]))
        let bytes = entry.encoded()
        guard case .matches(let read) = try OutboxEntry(decoding: bytes.span).news else {
            Issue.record("no matches")
            return
        }
        #expect(read.map(\.fields) == [["text": .string("t")]])
    }

    private func check<Value: LayoutValue>(_ value: Value, forKey key: [UInt8]) throws {
        let bytes = value.encoded()
        #expect(try Value(decoding: bytes.span) == value)
        #expect(throws: StoreError.self) { try Value(decoding: (bytes + [0]).span) }
        for index in bytes.indices {
            #expect(throws: StoreError.self) { try Value(decoding: Array(bytes[..<index]).span) }
            for mask: UInt8 in [1, 2, 4, 8, 16, 32, 64, 128] {
                var damaged = bytes
                damaged[index] ^= mask
                let isSame = isCanonical(damaged, Value.self)
                #expect(isSame)
                guard mask == 1 || mask == 128 else { continue }
                #expect(LayoutChecks.unsafeScalar(in: ValueDescription.text(of: damaged, forKey: key)) == nil)
            }
        }
    }

    private func isCanonical<Value: LayoutValue>(_ bytes: [UInt8], _ type: Value.Type) -> Bool {
        guard let value = try? Value(decoding: bytes.span) else { return true }
        return value.encoded() == bytes
    }
}
