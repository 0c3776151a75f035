// The verifier of shares must find every possible fault, and nothing in a store without faults.

import Foundation
import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("share verifier")
struct ShareVerifierTests {
    private static let notes = ReleaseBench.notes
    private static let photos = ReleaseBench.photos

    /// Alice shares a folder with Bob, Carol and anyone with the URL, and a whole zone with Bob.
    private struct Scene {
        let town: ShareStage
        let zone: ZoneKeys
        let place: SharePlace

        init() throws {
            town = try ShareStage()
            for address in [notes, photos] { try town.bench.makeZone(address) }
            try town.write(town.fullContent(root: "folder", 100), "Share-1")
            var content = town.content(root: nil, 200)
            content.participants.append(town.accepted(town.bob))
            try town.write(content, ShareContent.zoneWideName, in: photos)
            zone = try town.engine.read { [town] in try $0.existingZone(town.zoneID()).keys }
            place = try town.place("Share-1")
        }

        func findings() throws -> [ShareFinding] {
            try ShareVerifier(engine: town.bench.service.engine).verify().findings
        }

        /// Replaces the content of a share and nothing else.
        func plant(_ change: (inout ShareContent) -> Void) throws {
            guard var content = try town.stored("Share-1") else { throw ConformanceFailure("The share is gone.") }
            change(&content)
            try plant(Field(.bytes(ShareContentEntry(content).encoded())))
        }

        func plant(_ field: Field?, share: RecordName = "Share-1") throws {
            var record = Record(name: share, type: ShareContent.recordType)
            if let field { record.fields[ShareContent.fieldKey] = field }
            try save(record)
        }

        func save(_ records: Record..., in address: ZoneAddress = notes) throws {
            let stamp = Stamp(date: town.bench.clock.now, user: town.alice.userName)
            let request = MutationRequest(records.map { .save($0) }, stamp: stamp, tagSalt: 1)
            try town.engine.transact { [town] in try $0.apply(request, in: town.zoneID(address)) }
        }
    }

    @Test("a store that cannot be read ends the verification of shares with its error, wherever reading fails")
    func failedReads() throws {
        let store = try Scene().town.engine.store
        func verify(_ store: any OrderedStore) throws {
            _ = try ShareVerifier(engine: RecordEngine(store: store, incarnation: UUID())).verify()
        }
        let error = StoreError(.inputOutput, "A planned fault: reading failed.")
        for point in [FaultPoint.read, .scanStep] {
            let counting = FaultInjectingStore(store)
            try verify(counting)
            let count = counting.count(of: point)
            #expect(count > 10)
            for occurrence in 1...count {
                let failing = FaultInjectingStore(store, fault: Fault(point, at: occurrence, error))
                #expect(throws: StoreError.self, "\(point) \(occurrence)") { try verify(failing) }
            }
        }
    }

    @Test("valid shares have no findings: of a folder, of a whole zone, changed, stopped and shared again")
    func clean() throws {
        let scene = try Scene()
        #expect(try scene.findings() == [])
        let town = scene.town
        var content = try #require(try town.stored("Share-1"))
        content.participants.removeLast(2)
        content.participants[1].permission = .none
        try town.write(content, "Share-1")
        #expect(try scene.findings() == [])
        try town.write(nil, "Share-1")
        #expect(try scene.findings() == [])
        try town.write(town.fullContent(root: "folder", 100), "Share-2")
        #expect(try town.problems() == [])
    }

    @Test("contents that break a rule are found, each by its rule")
    func invariants() throws {
        let scene = try Scene()
        let sound = try #require(try scene.town.stored("Share-1"))
        for (text, change) in Self.brokenRules(scene) {
            try scene.plant(change)
            let found = try scene.findings()
            #expect(found.contains { $0.kind == .invalid && $0.detail.contains(text) }, "\(text): \(found)")
            #expect(found.allSatisfy { $0.kind != .invalid || $0.place.contains("Share-1") })
            try scene.plant { $0 = sound }
            #expect(try scene.findings() == [])
        }
    }

    @Test("[X-10] any number of participants is valid, because the host sets the limit")
    func numbers() throws {
        let scene = try Scene()
        // Only their URLs are missing.
        try scene.plant { content in content.participants += (0..<150).map { scene.town.oneTime(1_000 + $0) } }
        let report = try ShareVerifier(engine: scene.town.engine).verify()
        #expect(report.count == 150)
        #expect(report.findings.allSatisfy { $0.kind == .missing })
        #expect(report.findings.count == VerifierReport<ShareFault>.maximumCount)
        #expect(report.unkeptCount == 50)
    }

    @Test("[X-08] an address that was used to accept may also be another person's invitation")
    func movedAddresses() throws {
        let scene = try Scene()
        let address = ParticipantInvitation.handle(.email("x@example.com"))
        try scene.plant { content in for place in 1...2 { content.participants[place].invitation = address } }
        #expect(try scene.findings() == [])
    }

    @Test("a participant with a guessable identifier is found")
    func predictable() throws {
        let scene = try Scene()
        try scene.plant { $0.participants[3].id = ParticipantID(UUID.withoutRandomness.uuidString) }
        #expect(try scene.findings().map(\.kind).contains(.predictable))
    }

    /// Changes that each violate one rule, with words of the finding.
    private static func brokenRules(_ scene: Scene) -> [(String, (inout ShareContent) -> Void)] {
        let (alice, bob) = (scene.town.alice.userName, scene.town.bob.userName)
        let date = scene.town.bench.clock.now
        return [
            ("not the owner", { $0.participants.swapAt(0, 1) }),
            ("not that of the database", { $0.participants[0].user = "_somebody" }),
            ("as owners are", { $0.participants[0].permission = .readOnly }),
            ("more than one owner", { $0.participants[3].role = .owner }),
            ("the name", { $0.root = nil }),
            ("are called", { $0.participants[2].id = $0.participants[1].id }),
            ("takes part already", { $0.participants[2].user = bob }),
            ("without a user", { $0.participants[1].user = nil }),
            (
                "invited by an address",
                { content in
                    content.participants[3].invitation = .handle(.email("x@example.com"))
                    var other = content.participants[3]
                    other.id = "other"
                    content.participants.append(other)
                }
            ),
            ("a secret that is another's", { $0.participants[3].invitation = .oneTime($0.token) }),
            ("pending and not invited", { $0.participants[3].invitation = nil }),
            ("private share is a public user", { $0.participants[1].role = .publicUser }),
            ("public share was invited", { $0.publicPermission = .readOnly }),
            (
                "another permission than the share's",
                { content in
                    content.publicPermission = .readOnly
                    content.participants.removeLast(2)
                    content.participants[1].role = .publicUser
                }
            ),
            (
                "a participant requests access",
                {
                    $0.requesters = [SharePetitioner(id: "r", user: bob, handle: nil, date: date)]
                }
            ),
            (
                "a participant requests access",
                {
                    $0.blocked = [SharePetitioner(id: "r", user: alice, handle: nil, date: date)]
                }
            ),
            (
                "blocked twice",
                {
                    let person = SharePetitioner(id: "r", user: "_x", handle: nil, date: date)
                    $0.requesters = [person]
                    $0.blocked = [person]
                }
            ),
        ]
    }

    @Test("an unreadable or empty share is damage, and the others are still verified")
    func damage() throws {
        let scene = try Scene()
        for field in [nil, Field(.string("x")), Field(.bytes([1, 2, 3])), Field(.bytes([]))] {
            try scene.plant(field)
            let kinds = Set(try scene.findings().map(\.kind))
            // Its entries cannot be computed, so they are dangling until it can be read again.
            #expect(kinds == [.damaged, .wrongRoot, .dangling], "\(kinds)")
        }
    }

    @Test("no finding contains a secret")
    func secrets() throws {
        let scene = try Scene()
        let shown = try [
            { try scene.plant { $0.token = ShareStage.token(7) } },
            {
                try scene.plant(
                    Field(
                        .bytes(Array(ShareContentEntry(scene.town.fullContent(root: "folder", 7)).encoded().dropLast()))
                    ))
            },
        ].flatMap { plant in
            try plant()
            return try scene.findings().map { "\($0)" }
        }
        #expect(shown.count > 4)
        for number in [7, 8, 100, 101] {
            let token = ShareStage.token(number)
            for line in shown {
                #expect(!line.contains(Hex.text(token.bytes.prefix(6).map { $0 })))
                #expect(!line.contains(token.text))
            }
        }
    }

    @Test("a share in a place without sharing is found: in the default zone, and in a public database")
    func misplaced() throws {
        let scene = try Scene()
        let town = scene.town
        let content = Field(.bytes(ShareContentEntry(town.content(root: nil, 300)).encoded()))
        let record = Record(
            name: ShareContent.zoneWideName, type: ShareContent.recordType, fields: [ShareContent.fieldKey: content])
        let stamp = Stamp(date: town.bench.clock.now, user: town.alice.userName)
        let databases = [
            town.zoneID().database, DatabaseID(container: ReleaseBench.container, owner: nil, scope: .public),
        ]
        for (count, database) in databases.enumerated() {
            let id = ZoneID(database: database, name: ZoneName(ZoneAddress.defaultZoneName))
            try town.engine.transact { transaction in
                let birth = ZoneBirth(identity: UUID(), incarnation: UUID(), stamp: stamp, databaseIdentity: UUID())
                try transaction.createZone(id, birth)
                try transaction.apply(MutationRequest([.save(record)], stamp: stamp, tagSalt: 1), in: id)
            }
            #expect(try scene.findings().map(\.kind) == [ShareFinding.Kind](repeating: .misplaced, count: count + 1))
        }
    }

    @Test("roots and shares that do not name each other are found, from either side")
    func roots() throws {
        let scene = try Scene()
        let folder = Record(name: "folder", type: "Note", share: "Share-1")
        let unmarked = Record(name: "folder", type: "Note")
        let faults: [([Record], Int)] = [
            // The mark is missing, is another's, is on another record too, or the root is another record.
            ([Record(name: "folder", type: "Note")], 1),
            ([Record(name: "folder", type: "Note", share: "Share-9")], 2),
            ([Record(name: "other", type: "Note", share: "Share-1")], 1),
            ([Record(name: "folder", type: "Note"), Record(name: "other", type: "Note", share: "Share-1")], 2),
        ]
        for (records, count) in faults {
            // An existing mark is not changed into another in one step.
            if records.contains(where: { $0.name == folder.name }) { try scene.save(unmarked) }
            for record in records { try scene.save(record) }
            let found = try scene.findings()
            #expect(found.map(\.kind) == [ShareFinding.Kind](repeating: .wrongRoot, count: count), "\(found)")
            for record in [Record(name: "other", type: "Note"), unmarked, folder] { try scene.save(record) }
            #expect(try scene.findings() == [])
        }
        try scene.plant { $0.root = "nobody" }
        #expect(try scene.findings().filter { $0.kind == .wrongRoot }.count == 2)
    }

    @Test("a shared zone that also contains another share is found")
    func zoneWideAndHierarchical() throws {
        let scene = try Scene()
        try scene.town.write(scene.town.fullContent(root: "album", 400), "Share-2", in: Self.photos)
        let found = try scene.findings()
        #expect(found.map(\.kind) == [.invalid])
        #expect(found[0].detail.contains("SH-09"))
    }

    @Test("secrets that are not the root's, and those of missing records, are found")
    func tokens() throws {
        let scene = try Scene()
        let key = scene.zone.shareToken("folder")
        let sound = ShareTokenEntry(token: ShareStage.token(100)).encoded()
        for value in [nil, ShareTokenEntry(token: ShareStage.token(999)).encoded()] {
            try scene.town.plant(value, at: key)
            #expect(try scene.findings().map(\.kind) == [.wrongToken])
        }
        try scene.town.plant([9, 9], at: key)
        #expect(try scene.findings().map(\.kind) == [.damaged])
        try scene.town.plant(sound, at: key)
        try scene.town.plant(sound, at: scene.zone.shareToken("gone"))
        #expect(try scene.findings().map(\.kind) == [.wrongToken])
        try scene.town.plant(nil, at: scene.zone.shareToken("gone"))
        #expect(try scene.findings() == [])
    }

    @Test("every missing, wrong or orphaned acceptance and URL is found, at its key")
    func entries() throws {
        let scene = try Scene()
        let town = scene.town
        let outside = try town.outside()
        #expect(outside.count == 6)
        for (key, value) in outside {
            let place = KeyDescription.text(of: key)
            for (planted, kind) in [(nil, .missing), ([9, 9], .damaged), (try Self.altered(key, value), .wrong)]
                as [([UInt8]?, ShareFinding.Kind)]
            {
                try town.plant(planted, at: key)
                let found = try scene.findings()
                #expect(found.map(\.kind) == [kind], "\(found)")
                #expect(found.map(\.place) == [place], "\(found)")
            }
            try town.plant(value, at: key)
        }
        #expect(try scene.findings() == [])
        let dangling: [([UInt8], [UInt8])] = [
            (
                scene.place.acceptanceKey(of: "_nobody"),
                try #require(outside[scene.place.acceptanceKey(of: town.bob.userName)])
            ),
            (
                GlobalKeys.shareURL([UInt8](repeating: 5, count: 32)),
                try #require(outside.first { GlobalKeys.keyspace(.shareURLs).contains($0.key) }).value
            ),
        ]
        for (key, value) in dangling {
            try town.plant(value, at: key)
            #expect(try scene.findings().map(\.kind) == [.dangling])
            try town.plant(nil, at: key)
        }
    }

    /// A value that can be read and says something else.
    private static func altered(_ key: [UInt8], _ value: [UInt8]) throws -> [UInt8] {
        if GlobalKeys.keyspace(.acceptances).contains(key) {
            var entry = try AcceptanceEntry(decoding: value.span)
            entry.permission = entry.permission == .readOnly ? .readWrite : .readOnly
            return entry.encoded()
        }
        var entry = try ShareURLEntry(decoding: value.span)
        entry.share = "another"
        return entry.encoded()
    }

    @Test("an acceptance that began ahead of the zone, or before the previous one ended, is found")
    func times() throws {
        let scene = try Scene()
        let key = scene.place.acceptanceKey(of: scene.town.bob.userName)
        let bytes = try #require(try scene.town.outside()[key])
        let sound = try AcceptanceEntry(decoding: bytes.span)
        for since: UInt64 in [0, 1_000] {
            var entry = sound
            entry.since = since
            try scene.town.plant(entry.encoded(), at: key)
            #expect(try scene.findings().map(\.kind) == [.wrong])
        }
        var other = sound
        other.zone = "Elsewhere"
        try scene.town.plant(other.encoded(), at: key)
        #expect(try scene.findings().map(\.kind) == [.wrong])
        try scene.town.plant(sound.encoded(), at: key)
        let ended = scene.zone.endedAcceptance(user: scene.town.bob.userName, ended: sound.since + 1, share: "Share-1")
        try scene.town.plant(EndedPeriodEntry(began: 1).encoded(), at: ended)
        #expect(try scene.findings().map(\.kind) == [.wrong])
    }

    @Test("a participant who accepted and has no account is found")
    func strangers() throws {
        let scene = try Scene()
        var content = try #require(try scene.town.stored("Share-1"))
        var stranger = scene.town.accepted(scene.town.bob)
        stranger.id = "stranger"
        stranger.user = "_stranger"
        content.participants.append(stranger)
        try scene.town.write(content, "Share-1")
        #expect(try scene.findings().map(\.kind) == [.stranger])
    }
}
