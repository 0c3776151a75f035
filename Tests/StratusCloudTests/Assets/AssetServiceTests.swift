// Assets through the server's requests: what a client saves, fetches, deletes and claims.

import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("assets of records", .inBothPlaces)
struct AssetServiceTests {
    private struct Identifiers: IdentifierSource {
        let random = Locked(SplitMix64(seed: 5))
        func makeUUID() -> UUID { random.withLock { $0.uuid() } }
        func makeSalt() -> UInt32 { random.withLock { UInt32(truncatingIfNeeded: $0.next()) } }
        func makeSecret(byteCount: Int) -> [UInt8] { random.withLock { $0.bytes(count: byteCount) } }
    }

    private static let container: ContainerName = "iCloud.com.example"
    private static let zone = ZoneAddress(zoneName: "Notes")
    private let files = MemoryFiles()
    private let service: CloudService
    private let alice: Caller
    private let bob: Caller

    init() throws {
        files.put([], at: "/store/marker")
        for number in 0..<4 { files.put([UInt8](repeating: UInt8(number), count: 100 + number), at: "/in/\(number)") }
        let clock = HandClock()
        let store = ContentPlace.store(over: TwiceRunningStore(MemoryStore()), clock)
        let engine = try RecordEngine(store: store, incarnation: UUID())
        let assets = AssetStore(
            directory: "/store/assets", session: UUID(), clock: clock, files: files, engine: engine)
        let service = CloudService(
            engine: engine, environment: CloudEnvironment(clock: clock, identifiers: Identifiers()), assets: assets)
        self.service = service
        func caller(_ name: String) throws -> Caller {
            let account = try service.createAccount(AccountDraft(externalID: name))
            return Caller(container: Self.container, account: account.id)
        }
        alice = try caller("alice")
        bob = try caller("bob")
        for caller in [alice, bob] {
            _ = try service.modifyZones(
                ModifyZonesRequest(saves: [ClientZone(address: Self.zone)]), as: caller, in: .private)
        }
    }

    private func address(_ name: String) -> RecordAddress { RecordAddress(recordName: name, zone: Self.zone) }

    @discardableResult
    private func save(
        _ name: String, _ assets: [String: ClientAsset?], as caller: Caller? = nil
    ) throws -> Result<ClientRecord, CloudError> {
        let fields = assets.compactMapValues { $0 }.mapValues { ClientField(.asset($0)) }
        let save = RecordSave(
            address: address(name), type: "Note", fields: fields, changedKeys: Set(assets.keys))
        let request = ModifyRecordsRequest(saves: [save], policy: .changedKeys)
        return try service.modifyRecords(request, as: caller ?? alice, in: .private).saves[0]
    }

    private func file(_ number: Int) -> ClientAsset { .file(path: "/in/\(number)") }

    private func content(of record: ClientRecord, _ key: String = "a") throws -> AssetDescriptor {
        guard case .asset(.content(let asset)) = record.fields[key]?.value else {
            throw CloudError(.internalError, "The record has no content.")
        }
        return asset
    }

    /// Collects, and counts the contents that are there.
    private func contentCount() throws -> Int {
        try service.collectAssets()
        #expect(try service.verifyAssets().isEmpty)
        return try fileCount()
    }

    private func fileCount() throws -> Int {
        if let contents = service.engine.store.contents { return try contents.names(after: nil, limit: .max).count }
        let top = "/store/assets/content"
        var count = 0
        for owner in (try? files.names(in: top)) ?? [] {
            for folder in try files.names(in: "\(top)/\(owner)") {
                count += try files.names(in: "\(top)/\(owner)/\(folder)").count
            }
        }
        return count
    }

    @Test("[R-14] a content goes when its field is set to another file, set to nil, or its record is deleted")
    func life() throws {
        _ = try save("r", ["a": file(0), "b": file(1)]).get()
        #expect(try contentCount() == 2)
        _ = try save("r", ["a": file(2)]).get()
        #expect(try contentCount() == 2)
        _ = try save("r", ["a": nil]).get()
        #expect(try contentCount() == 1)
        _ = try save("s", ["a": file(1)]).get()
        #expect(try contentCount() == 1)
        for name in ["r", "s"] {
            let request = ModifyRecordsRequest(deletes: [address(name)])
            _ = try service.modifyRecords(request, as: alice, in: .private).deletes[0].get()
            #expect(try contentCount() == (name == "r" ? 1 : 0))
        }
    }

    @Test("[R-14] deleting a zone releases its contents, and no other zone's")
    func zoneDeletion() throws {
        _ = try save("r", ["a": file(0), "b": file(1)]).get()
        _ = try save("r", ["a": file(0)], as: bob).get()
        #expect(try contentCount() == 3)
        _ = try service.modifyZones(ModifyZonesRequest(deletes: [Self.zone]), as: alice, in: .private).deletes[0].get()
        // Until they are released they count, and no verifier reports that.
        #expect(try contentCount() == 3)
        try service.releaseAssets(UpkeepPace(pause: {}))
        #expect(try contentCount() == 1)
    }

    @Test("[C-10] a missing file fails its record, and nothing of the request is kept")
    func missingFile() throws {
        let result = try save("r", ["a": .file(path: "/in/none"), "b": file(1)])
        guard case .failure(let error) = result else {
            Issue.record("saved")
            return
        }
        #expect(error.code == .assetFileNotFound)
        #expect(try contentCount() == 0)
    }

    @Test("[X-27] a content that a client claims to hold counts only if the record already holds it")
    func claims() throws {
        let record = try save("r", ["a": file(0)]).get()
        let asset = try content(of: record)
        _ = try save("r", ["a": .content(asset)]).get()
        for (name, caller) in [("other", alice), ("r", bob)] {
            guard case .failure(let error) = try save(name, ["a": .content(asset)], as: caller) else {
                Issue.record("\(name) took a content it never held")
                continue
            }
            #expect(error.code == .assetNotAvailable)
        }
        #expect(try contentCount() == 1)
    }

    private func copy(
        _ asset: AssetDescriptor, in field: String = "a", of record: String = "r", zone: ZoneAddress = Self.zone,
        as caller: Caller? = nil, _ database: DatabaseSelector = .private
    ) throws -> [UInt8]? {
        let address = RecordAddress(recordName: record, zone: zone)
        return files.content(
            at: try service.copyAsset(HeldAsset(asset, in: field, of: address), as: caller ?? alice, in: database))
    }

    @Test("[X-27] a copy is created for callers who can read the record with the content; another's zone is refused")
    func copies() throws {
        let asset = try content(of: try save("r", ["a": file(3)]).get())
        #expect(try copy(asset) == [UInt8](repeating: 3, count: 103))
        #expect(cloudErrorCode { try copy(asset, as: bob) } == .assetNotAvailable)
        let claimed = ZoneAddress(zoneName: "Notes", ownerName: try service.userName(of: alice).text)
        #expect(try copy(asset, zone: claimed) != nil)
        #expect(cloudErrorCode { try copy(asset, zone: claimed, as: bob) } == .invalidArguments)
        #expect(cloudErrorCode { try copy(asset, zone: claimed, as: bob, .shared) } == .assetNotAvailable)
        let nobody = Caller(container: Self.container, account: nil)
        #expect(cloudErrorCode { try copy(asset, as: nobody) } == .notAuthenticated)
    }

    @Test("[X-27] content that an answer names can be copied while its receiver holds it, even if the records lose it")
    func heldContents() throws {
        let held = HeldAsset(try content(of: try save("r", ["a": file(3)]).get()), in: "a", of: address("r"))
        func copy(_ hold: AssetHold?) throws -> [UInt8]? {
            let copies = try service.copyAssets([held], as: alice, in: .private, under: hold) { true }
            return files.content(at: try copies[0].get())
        }
        var first = service.holdAssets()
        var second = service.holdAssets()
        _ = try save("r", ["a": nil]).get()
        #expect(try service.collectAssets() == 0)
        // A collector that began after the content became unused knows this, and does not keep it.
        let third = service.holdAssets()
        #expect(try copy(first) == [UInt8](repeating: 3, count: 103))
        first = nil
        #expect(try service.collectAssets() == 0)
        #expect(try copy(second) != nil)
        #expect(cloudErrorCode { _ = try copy(nil) } == .assetNotAvailable)
        second = nil
        #expect(try service.collectAssets() == 1)
        #expect(cloudErrorCode { _ = try copy(third) } == .assetNotAvailable)
        withExtendedLifetime((first, second, third)) {}
        #expect(try contentCount() == 0)
    }

    @Test("[X-27][R-14] a held content that is saved again meanwhile stays; a stopped request copies nothing")
    func heldAgain() throws {
        let asset = try content(of: try save("r", ["a": file(3)]).get())
        var hold = service.holdAssets()
        _ = try save("r", ["a": nil]).get()
        #expect(try service.collectAssets() == 0)
        _ = try save("s", ["a": file(3)]).get()
        let held = HeldAsset(asset, in: "a", of: address("r"))
        let stopped = try service.copyAssets([held], as: alice, in: .private, under: hold) { false }
        #expect(cloudErrorCode { _ = try stopped[0].get() } == .operationCancelled)
        hold = nil
        withExtendedLifetime(hold) {}
        #expect(try contentCount() == 1)
        _ = try save("s", ["a": nil]).get()
        #expect(try contentCount() == 0)
        #expect((try? files.names(in: "/store/assets/copies")) == nil)
    }

    @Test("[X-27][D-03] a participant copies what the share covers, and nothing else of a zone that they see")
    func hiddenRecords() throws {
        try service.changeAccount(#require(bob.account)) { $0.handles.insert(.email("bob@example.com")) }
        let covered = try content(of: try save("file", ["a": file(1)]).get())
        let hidden = try content(of: try save("top", ["a": file(2)]).get())
        func record(_ name: String, parent: String?) throws -> RecordSave {
            let request = FetchRecordsRequest(addresses: [address(name)])
            let fetched = try service.fetchRecords(request, as: alice, in: .private).records[0].get()
            return RecordSave.change(fetched).with(parent: parent)
        }
        let folder = RecordSave.new("folder", in: Self.zone, parent: "top")
        let share = RecordSave.share(
            "Share", root: "folder", with: [.email("bob@example.com", .readOnly)], in: Self.zone)
        let saves = [folder, share, try record("file", parent: "folder")]
        let answers = try service.modifyRecords(ModifyRecordsRequest(saves: saves), as: alice, in: .private)
        let url = try #require(try answers.saves.map { try $0.get() }[1].sharing?.url)
        _ = try service.acceptShares([url], as: bob)[0].get()
        let notes = ZoneAddress(zoneName: Self.zone.zoneName, ownerName: try service.userName(of: alice).text)
        #expect(try copy(covered, of: "file", zone: notes, as: bob, .shared) == [UInt8](repeating: 1, count: 101))
        let refused: [() throws -> [UInt8]?] = [
            // Of a hidden record, through one that is seen, and of one that is not there.
            { try copy(hidden, of: "top", zone: notes, as: bob, .shared) },
            { try copy(hidden, of: "file", zone: notes, as: bob, .shared) },
            { try copy(hidden, of: "none", zone: notes, as: bob, .shared) },
        ]
        let errors = refused.map { body in cloudError { _ = try body() } }
        #expect(errors.map { $0?.code } == [.assetNotAvailable, .assetNotAvailable, .assetNotAvailable])
        #expect(Set(errors.map { $0?.message }).count == 1)
        #expect(try copy(hidden, of: "top") != nil)
        // What moves out of the share is hidden at once.
        let moved = ModifyRecordsRequest(saves: [try record("file", parent: nil)])
        _ = try service.modifyRecords(moved, as: alice, in: .private).saves[0].get()
        #expect(cloudErrorCode { try copy(covered, of: "file", zone: notes, as: bob, .shared) } == .assetNotAvailable)
    }

    @Test(
        "[X-22][X-27] a content is reachable only through a field that holds it, and the reason for a refusal is not revealed"
    )
    func claimedPlaces() throws {
        let asset = try content(of: try save("r", ["a": file(3), "b": file(0)]).get())
        let list = ClientField(.list([.asset(file(1)), .asset(file(2))]))
        let listed = RecordSave(address: address("l"), type: "Note", fields: ["many": list], changedKeys: ["many"])
        let saved = try service.modifyRecords(ModifyRecordsRequest(saves: [listed]), as: alice, in: .private).saves[0]
        guard case .list(let items) = try saved.get().fields["many"]?.value, let second = items.last?.content else {
            Issue.record("the list has no contents")
            return
        }
        #expect(try copy(second, in: "many", of: "l") == [UInt8](repeating: 2, count: 102))
        let elsewhere = ZoneAddress(zoneName: "Nowhere")
        let refused: [() throws -> [UInt8]?] = [
            { try copy(asset, in: "b") }, { try copy(asset, in: "none") }, { try copy(asset, of: "l") },
            { try copy(asset, of: "none") }, { try copy(asset, of: "") }, { try copy(asset, zone: elsewhere) },
            { try copy(second) },
        ]
        let errors = refused.map { body in cloudError { _ = try body() } }
        #expect(errors.allSatisfy { $0?.code == .assetNotAvailable })
        #expect(Set(errors.map { $0?.message }).count == 1)
        // A content that the record no longer holds is not returned, although another record still holds it.
        _ = try save("s", ["a": file(3)]).get()
        _ = try save("r", ["a": file(1)]).get()
        #expect(cloudErrorCode { try copy(asset) } == .assetNotAvailable)
        #expect(try copy(asset, of: "s") != nil)
    }

    @Test(
        "[X-27] public contents belong to the app: every reader of the record may copy them, and the creator does not own them"
    )
    func publicContents() throws {
        let address = RecordAddress(recordName: "p")
        let save = RecordSave(
            address: address, type: "Note", fields: ["a": ClientField(.asset(file(0)))], changedKeys: ["a"])
        let response = try service.modifyRecords(ModifyRecordsRequest(saves: [save]), as: alice, in: .public)
        let asset = try content(of: try response.saves[0].get())
        let nobody = Caller(container: Self.container, account: nil)
        #expect(try copy(asset, of: "p", zone: .defaultZone, as: nobody, .public) != nil)
        #expect(cloudErrorCode { try copy(asset, of: "p", zone: .defaultZone) } == .assetNotAvailable)
        try service.importSchema(
            "DEFINE SCHEMA RECORD TYPE Note ( a ASSET, GRANT READ TO \"_creator\" );", into: Self.container)
        #expect(try copy(asset, of: "p", zone: .defaultZone, .public) != nil)
        for caller in [nobody, bob] {
            #expect(
                cloudErrorCode { try copy(asset, of: "p", zone: .defaultZone, as: caller, .public) }
                    == .assetNotAvailable)
        }
        #expect(try contentCount() == 1)
    }

    @Test("the first rounds of the next session collect what an earlier session left, step by step", .onlyFiles)
    func sessionSweep() throws {
        _ = try save("r", ["a": file(0)]).get()
        let abandoned = try #require(service.assets)
        for number in 1..<4 { _ = try abandoned.takeIn(path: "/in/\(number)", owner: "_gone") }
        let next = CloudService(
            engine: service.engine, environment: service.environment,
            assets: AssetStore(directory: "/store/assets", session: UUID(), clock: HandClock(), files: files))
        #expect(try next.verifyAssets().count == 3)
        #expect(try next.collectAssets { false } == 0)
        var rounds = 0
        while try !next.verifyAssets().isEmpty, rounds < 10 {
            var isFirst = true
            try next.collectAssets {
                defer { isFirst = false }
                return isFirst
            }
            rounds += 1
        }
        #expect((2...5).contains(rounds))
        let callCount = files.callCount
        try next.collectAssets()
        try next.collectAssets()
        #expect(files.callCount <= callCount + 10)
    }

    @Test("[S-13] production refuses a record with an unknown field as a whole request, and keeps nothing imported")
    func schemaOfRequest() throws {
        _ = try save("r", ["a": file(0)]).get()
        var options = CloudOptions()
        options.schemaMode = .production
        let production = CloudService(
            engine: service.engine, environment: service.environment, options: options, assets: service.assets)
        let save = RecordSave(
            address: address("s"), type: "Note", fields: ["new": ClientField(.asset(file(1)))], changedKeys: ["new"])
        let response = try production.modifyRecords(ModifyRecordsRequest(saves: [save]), as: alice, in: .private)
        guard case .failure(let error) = response.saves[0] else {
            Issue.record("saved")
            return
        }
        #expect(error.description.hasPrefix("12/2006: Cannot create or modify field 'new'"))
        #expect(try contentCount() == 1)
    }
}
