// Payloads: they round-trip over every encoding, and damaged ones never trap.

import Foundation
import StratusCloud
import StratusModel
import StratusTestSupport
import Testing

@testable import StratusKit

@Suite struct NotificationPayloadTests {
    /// The encodings of a payload on its way.
    enum Wire: CaseIterable {
        case none
        case json
        case binaryList
        case xmlList

        func carry(_ payload: [AnyHashable: Any]) throws -> [AnyHashable: Any] {
            switch self {
            case .none: return payload
            case .json:
                let data = try JSONSerialization.data(withJSONObject: payload)
                return try #require(try JSONSerialization.jsonObject(with: data) as? [AnyHashable: Any])
            case .binaryList, .xmlList:
                let data = try PropertyListSerialization.data(
                    fromPropertyList: payload, format: self == .xmlList ? .xml : .binary, options: 0)
                return try #require(
                    // Unsafe because the format is returned through a pointer; none is given.
                    try unsafe PropertyListSerialization.propertyList(from: data, format: nil) as? [AnyHashable: Any])
            }
        }
    }

    private static func isExact(_ told: ClientNotification, over wire: Wire) throws -> Bool {
        let read = NotificationPayload.content(of: try wire.carry(NotificationPayload.dictionary(of: told)))
        return read == NotificationContent(told)
    }

    @Test("[N-06] every notification, pruned ones too, is parsed as it was written", arguments: Wire.allCases)
    func samples(wire: Wire) throws {
        for told in NotificationSamples.all { #expect(try Self.isExact(told, over: wire), "\(told)") }
    }

    @Test("400 random notifications are parsed as they were written", arguments: Wire.allCases)
    func random(wire: Wire) async throws {
        let random = SplitMix64.announced("payloads \(wire)")
        let wrong = try await TestThreads.offPool {
            try (0..<400).compactMap { index -> ClientNotification? in
                var generator = NotificationGenerator(random: random.generator(forCase: index))
                let told = generator.notification()
                return try Self.isExact(told, over: wire) ? nil : told
            }
        }
        #expect(wrong.isEmpty, "\(wrong.count) of them, such as \(wrong.first.map { "\($0)" } ?? "none")")
    }

    @Test("a payload has the format of the real service, and its parts cast as client code casts them")
    func shape() throws {
        let payload = NotificationPayload.dictionary(of: NotificationSamples.all[0])
        let shown = try #require(payload["aps"] as? [String: Any])
        #expect(shown["content-available"] as? Int == 1)
        #expect(shown["mutable-content"] as? Int == 1)
        #expect(shown["badge"] as? Int == 180)
        #expect(shown["sound"] as? String == "default")
        let alert = try #require(shown["alert"] as? [String: Any])
        #expect(alert["body"] as? String == "new")
        #expect(alert["title-loc-key"] as? String == "TT")
        #expect(alert["loc-args"] as? [String] == ["a", ""])
        let told = try #require(payload["ck"] as? [String: NSObject])
        #expect(told["cid"] == "iCloud.com.example.app" as NSString)
        #expect(told["ce"] == 2 as NSNumber)
        #expect(told["nid"] as? String == "943172cd-822f-4890-8a2b-b24bb2a15527")
        #expect(told["p"] == nil)
        let query = try #require((payload["ck"] as? NSDictionary)?["qry"] as? [AnyHashable: Any])
        #expect(query["dbs"] as? Int == 1)
        #expect(query["fo"] as? Int == 2)
        #expect(query["rid"] as? String == "note-1")
        #expect(query["zid"] as? String == "Notes")
        #expect(query["sid"] as? String == "changes")
        let fields = try #require(query["af"] as? [String: Any])
        #expect(fields["title"] as? String == "Größe 😀")
        #expect(fields["price"] as? Double == 0.1)
        let text = NotificationPayload.dictionary(of: NotificationSamples.all[1])
        #expect((text["aps"] as? [String: Any])?["alert"] as? String == "only")
        let silent = NotificationPayload.dictionary(of: NotificationSamples.all[3])
        #expect((silent["aps"] as? [String: Any])?.isEmpty == true)
        let pruned = try #require(
            NotificationPayload.dictionary(of: NotificationSamples.all[5])["ck"] as? [String: Any])
        #expect(pruned["p"] as? Int == 1)
        #expect(pruned["dbs"] as? Int == 2)
        #expect(pruned["qry"] == nil)
    }

    @Test("a payload never creates an asset from a file, nor a nested list")
    func claims() throws {
        let payload: [AnyHashable: Any] = [
            "ck": [
                "qry": [
                    "rid": "r", "zid": "z", "fo": 1,
                    "af": [
                        "file": CKAsset(fileURL: URL(fileURLWithPath: "/etc/hostname")),
                        "list": ["type": "LIST", "value": [["type": "LIST", "value": ["a"]], "b"]] as [String: Any],
                        "raw": ["a"], "unknown": ["type": "X", "value": "y"], "bad": ["type": "DOUBLE", "value": "y"],
                    ] as [String: Any],
                ] as [String: Any]
            ]
        ]
        let content = try #require(NotificationPayload.content(of: payload))
        #expect(content.fields == ["list": .list([.string("b")])])
    }

    // MARK: Damage

    /// A value that no payload has in its place.
    private static func stranger(_ random: inout SplitMix64, depth: Int = 0) -> Any {
        switch random.below(depth < 3 ? 15 : 11) {
        case 0: NSNull()
        case 1: NSNumber(value: random.element(of: [0, 1, -1, .nan, .infinity, 1e300, 1.5]))
        case 2: NSNumber(value: random.element(of: [Int64.min, .max, 0, 1, 2, 3, 4, 255, 256]))
        case 3: NSNumber(value: UInt64.max)
        case 4:
            random.element(of: ["", "x", "qry", "DOUBLE", "LIST", "nan", "e\u{301}", "é", "1e999", "_defaultOwner"])
        case 5: NSString(string: random.element(of: ["LOCATION", "REFERENCE", "é", "e\u{301}"]))
        case 6: Data([1])
        case 7: NSDate()
        case 8: Int.max
        case 9: CKRecord(recordType: "T")
        case 10: Optional<String>.none as Any
        case 11: NSArray(array: (0..<random.below(9)).map { _ in stranger(&random, depth: depth + 1) })
        case 12: (0..<random.below(9)).map { _ in stranger(&random, depth: depth + 1) }
        case 13:
            Dictionary(
                (0..<random.below(5)).map { _ in
                    (
                        AnyHashable(random.element(of: ["type", "value", "é", "e\u{301}"])),
                        stranger(&random, depth: depth + 1)
                    )
                }, uniquingKeysWith: { $1 })
        default:
            NSDictionary(
                objects: [stranger(&random, depth: depth + 1), "x"],
                forKeys: [NSString(string: "é"), NSString(string: "e\u{301}")])
        }
    }

    /// A payload with one part after another put in its place, on some way down.
    private static func damaged(_ object: Any, _ random: inout SplitMix64) -> Any {
        guard !random.isOne(in: 6), let dictionary = PayloadDictionary(object), !dictionary.content.isEmpty else {
            return stranger(&random)
        }
        var content = dictionary.content
        let key = random.element(of: content.keys.sorted())
        switch random.below(5) {
        case 0: content[key] = nil
        case 1:
            content[random.element(of: ["qry", "fet", "met", "dbs", "af", "type", "value", "alert"])] = stranger(
                &random)
        default: content[key] = content[key].map { damaged($0, &random) }
        }
        return random.isOne(in: 2) ? content : NSDictionary(dictionary: content)
    }

    @Test("3,000 damaged payloads are a notification or nil, and none traps")
    func damage() async throws {
        let random = SplitMix64.announced("damaged payloads")
        let readCount = try await TestThreads.offPool {
            var readCount = 0
            for index in 0..<3_000 {
                var generator = random.generator(forCase: index)
                var payload: Any = NotificationPayload.dictionary(of: generator.element(of: NotificationSamples.all))
                for _ in 0..<1 + generator.below(3) { payload = Self.damaged(payload, &generator) }
                var received = PayloadDictionary(payload)?.content as [AnyHashable: Any]? ?? [:]
                if generator.isOne(in: 8) { received[AnyHashable(generator.below(3))] = payload }
                guard let notification = CKNotification(fromRemoteNotificationDictionary: received) else { continue }
                readCount += 1
                _ = (notification as? CKQueryNotification)?.recordFields?.values.map { "\($0)" }
                _ = notification.description
                // What was read is written and read again.
                let told = notification.content.notification
                guard told.subject != nil, !"\(told)".contains("nan") else { continue }
                try #require(
                    NotificationPayload.content(of: NotificationPayload.dictionary(of: told))?.notification == told)
            }
            return readCount
        }
        #expect((300..<2_900).contains(readCount), "\(readCount) read")
    }
}
