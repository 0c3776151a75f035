// Keys decode to their parts, and damaged keys are reported as damaged.

import StratusLayout
import StratusModel
import StratusStore
import StratusTestSupport
import Testing

@Suite("reading keys")
struct KeyReadingTests {
    @Test("every key of a zone decodes to its parts")
    func roundTrips() throws {
        let seed = SplitMix64.announced("reading keys")
        for index in 0..<1_500 {
            var random = seed.generator(forCase: index)
            let zone = ZoneKeys(
                database: DatabaseNumber(max(1, RecordGenerator.number(&random))),
                zone: ZoneNumber(max(1, RecordGenerator.number(&random))))
            let (a, b) = (RecordGenerator.name(&random), RecordGenerator.name(&random))
            let (text, number) = (RecordGenerator.text(&random), RecordGenerator.number(&random))
            try expectNames(zone, a, b)
            try expectIndexes(zone, a, b, text, number, random.tupleElement())
        }
    }

    private func expectNames(_ zone: ZoneKeys, _ a: RecordName, _ b: RecordName) throws {
        #expect(try zone.readRecordKey(zone.record(a).span).name == a)
        #expect(try zone.readRecordKey(zone.record(a).span).chunkIndex == nil)
        #expect(try zone.readRecordKey(zone.recordChunk(a, index: 7).span).chunkIndex == 7)
        #expect(try zone.readParentKey(zone.parent(of: a).span) == a)
        let child = zone.child(parent: a, name: b)
        #expect(try zone.readChildKey(child.span).parent == a)
        #expect(try zone.readChildKey(child.span).child == b)
        let prefixByteCount = zone.children(of: a).lower.count
        #expect(try ZoneKeys.readChild(child.span, prefixByteCount: prefixByteCount) == b)
        #expect(try zone.readShareRootKey(zone.shareRoot(a).span) == a)
        let count = try zone.readShareCountKey(zone.shareCount(parent: a, name: b).span)
        #expect(count.parent == a)
        #expect(count.name == b)
        #expect(try zone.readShareCountKey(zone.shareCount(parent: nil, name: b).span).parent == nil)
    }

    private func expectIndexes(
        _ zone: ZoneKeys, _ a: RecordName, _ b: RecordName, _ text: String, _ number: UInt64, _ element: TupleElement
    ) throws {
        let (field, type) = (FieldKey(text), RecordType(text))
        for action in ReferenceAction.allCases {
            let key = zone.reference(target: a, source: b, field: field, action: action)
            let parts = try zone.readReferenceKey(key.span)
            #expect(parts.target == a)
            #expect(parts.source == b)
            #expect(parts.field == field)
            #expect(parts.action == action)
        }
        let typeParts = try zone.readTypeKey(zone.type(type, name: a).span)
        #expect(typeParts.type == type)
        #expect(typeParts.name == a)
        let token = try zone.readTokenKey(zone.token(text, field: field, name: a).span)
        #expect(FieldKey(token.token) == field)
        #expect(token.field == field)
        #expect(token.name == a)
        let fieldKey = zone.field(type: type, field: field, value: element, name: a)
        let fieldParts = try zone.readFieldKey(fieldKey.span)
        #expect(fieldParts.type == type)
        #expect(fieldParts.field == field)
        #expect(fieldParts.value == element)
        #expect(fieldParts.name == a)
        #expect(try zone.readChangeKey(zone.change(sequence: number).span) == number)
        let parent = try zone.readEndedParentKey(zone.endedParent(child: a, ended: number).span)
        #expect(parent.name == a)
        #expect(parent.ended == number)
        let share = try zone.readEndedShareKey(zone.endedShare(root: a, ended: number).span)
        #expect(share.name == a)
        #expect(share.ended == number)
        let child = try zone.readEndedChildKey(zone.endedChild(parent: a, child: b, ended: number).span)
        #expect(child.parent == a)
        #expect(child.child == b)
        #expect(child.ended == number)
    }

    @Test("keys are appended to a buffer, which keeps its capacity")
    func reusedBuffers() {
        let zone = LayoutSamples.zone
        var key: [UInt8] = []
        key.reserveCapacity(500)
        let capacity = key.capacity
        zone.child(parent: "a long name", name: "b", into: &key)
        zone.record("a", into: &key)
        #expect(key == zone.child(parent: "a long name", name: "b") + zone.record("a"))
        #expect(key.capacity == capacity)
    }

    @Test("keys outside zones decode to their parts")
    func globalKeys() throws {
        for id in [
            DatabaseID(container: "c", owner: nil, scope: .public),
            DatabaseID(container: "c", owner: "o\0", scope: .private),
        ] {
            #expect(try GlobalKeys.readDatabaseKey(GlobalKeys.database(id).span) == id)
        }
        for list in [GlobalKeyspace.purges, .releases, .rebuilds, .indexBuilds] {
            let key = GlobalKeys.zone(DatabaseNumber(3), ZoneNumber(256), in: list)
            #expect(try GlobalKeys.readZoneKey(key.span, in: list) == (DatabaseNumber(3), ZoneNumber(256)))
        }
        try expectSubscriptionKeys()
        let upload = try GlobalKeys.readUploadKey(
            GlobalKeys.upload(owner: "o", digest: [0, 255], lease: LayoutSamples.first).span)
        #expect(upload.owner == "o")
        #expect(upload.digest == [0, 255])
        #expect(upload.lease == LayoutSamples.first)
        #expect(try GlobalKeys.readContentKey(GlobalKeys.content(LayoutSamples.content).span) == LayoutSamples.content)
        let operation = try GlobalKeys.readOperationKey(GlobalKeys.operation("id\0", 300).span)
        #expect(operation.id == "id\0")
        #expect(operation.index == 300)
        let database = LayoutSamples.database
        #expect(try database.readZoneKey(database.zone("z").span) == "z")
        #expect(try database.readChangeKey(database.change(300).span) == 300)
    }

    private func expectSubscriptionKeys() throws {
        let parts = SubscriptionKeyParts(container: "c", user: "u\0", database: 3, id: "e\u{301}")
        #expect(try GlobalKeys.readSubscriptionKey(GlobalKeys.subscription(parts).span) == parts)
        // Identifiers are compared by their bytes.
        let composed = SubscriptionKeyParts(container: "c", user: "u\0", database: 3, id: "\u{E9}")
        #expect(parts != composed)
        #expect(Set([parts, composed]).count == 2)
        let device = try GlobalKeys.readDeviceKey(GlobalKeys.device(of: "a", "phone").span)
        #expect(device.account == "a")
        #expect(device.name == "phone")
        let waiting = try GlobalKeys.readNotificationKey(GlobalKeys.notification(for: "a", "p", order: 300).span)
        #expect(waiting.account == "a")
        #expect(waiting.device == "p")
        #expect(waiting.order == 300)
        let key = GlobalKeys.outbox(DatabaseNumber(3), counter: 256, index: 1)
        let outbox = try GlobalKeys.readOutboxKey(key.span)
        #expect(outbox.database == DatabaseNumber(3))
        #expect(outbox.counter == 256)
        #expect(outbox.index == 1)
        let wrong = SubscriptionKeyParts(container: "c", user: "u", database: 4, id: "i")
        #expect(throws: StoreError.self) { try GlobalKeys.readSubscriptionKey(GlobalKeys.subscription(wrong).span) }
        let nowhere = GlobalKeys.outbox(.outside, counter: 1, index: 1)
        #expect(throws: StoreError.self) { try GlobalKeys.readOutboxKey(nowhere.span) }
        #expect(throws: StoreError.self) { try GlobalKeys.readDeviceKey(key.span) }
        #expect(throws: StoreError.self) { try GlobalKeys.readNotificationKey(key.span) }
    }

    @Test("a key of another zone or keyspace, or with more parts, is damage, with its bytes in the error")
    func refusals() throws {
        let zone = LayoutSamples.zone
        let other = ZoneKeys(database: zone.database, zone: ZoneNumber(701))
        let keys = [other.record("a"), zone.parent(of: "a"), zone.record("a") + [0x01], [], zone.prefix]
        for key in keys {
            let error = #expect(throws: StoreError.self) { try zone.readRecordKey(key.span) }
            #expect(error?.code == .corruption)
            #expect(error?.fields["hex"] == Hex.text(key))
            #expect(error?.fields["keyspace"] == "records")
        }
        #expect(throws: StoreError.self) { try ZoneKeys.readChild([1, 2].span, prefixByteCount: 3) }
        #expect(throws: StoreError.self) { try ZoneKeys.readChild([1, 2].span, prefixByteCount: -1) }
        let zeroPurge = GlobalKeys.zone(.outside, ZoneNumber(1), in: .purges)
        #expect(throws: StoreError.self) { try GlobalKeys.readZoneKey(zeroPurge.span, in: .purges) }
    }

    @Test("a key with an extra part is damage, whichever part is read")
    func moreParts() {
        let zone = LayoutSamples.zone
        func expectDamage(_ key: [UInt8], _ read: (Span<UInt8>) throws -> Void) {
            #expect(throws: Never.self) { try read(key.span) }
            // One more element: null, and an integer.
            for part in [[0x01], [0x11, 0x05]] as [[UInt8]] {
                #expect(throws: StoreError.self, "\(Hex.text(key))") { try read((key + part).span) }
            }
        }
        expectDamage(zone.parent(of: "a")) { _ = try zone.readParentKey($0) }
        expectDamage(zone.change(sequence: 3)) { _ = try zone.readChangeKey($0) }
        expectDamage(zone.endedAcceptance(user: "u", ended: 3, share: "S")) { _ = try zone.readEndedAcceptanceKey($0) }
        expectDamage(GlobalKeys.asset(owner: "u", digest: [1, 2])) { _ = try GlobalKeys.readAssetKey($0) }
        expectDamage(GlobalKeys.zone(DatabaseNumber(1), ZoneNumber(1), in: .purges)) {
            _ = try GlobalKeys.readZoneKey($0, in: .purges)
        }
        expectDamage(GlobalKeys.acceptance(user: "u", zone: LayoutSamples.second, share: "S")) {
            _ = try GlobalKeys.readAcceptanceKey($0)
        }
    }
}
