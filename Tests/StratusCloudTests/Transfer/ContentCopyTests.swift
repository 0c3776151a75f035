// Copies of whole stores between engines of which one or both have the contents of assets in the store: equal ledgers
// and contents, wherever a copy was interrupted, and errors that name the record whose content is lost.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@testable import StratusCloud

@Suite("copies of contents between engines")
struct ContentCopyTests {
    /// A store with its contents: in the store, or in files under its name.
    private struct Place {
        let store: any OrderedStore
        /// The contents in the store.
        let memory: MemoryContents?
        let name: String
        let files: MemoryFiles

        init(
            _ place: ContentPlace, _ name: String, _ files: MemoryFiles
        ) {
            memory = place == .store ? MemoryContents { 1_000 } : nil
            store = memory.map { ContentsStore(MemoryStore(), $0) } ?? MemoryStore()
            (self.name, self.files) = (name, files)
            if (try? files.names(in: "/\(name)")) == nil { files.put([], at: "/\(name)/marker") }
        }

        func assets(_ engine: RecordEngine) -> AssetStore {
            AssetStore(
                directory: "/\(name)/assets", session: UUID(), clock: BenchClock(), leaseSeconds: 60, files: files,
                engine: engine)
        }

        func engine() throws -> RecordEngine { try RecordEngine(store: store, incarnation: UUID()) }
    }

    /// A town whose contents are in one place, with what is special about contents: an empty one, one of several
    /// commits, one that fills them, one that two records hold, and one that two people have.
    private struct Source {
        let town: AssetTown
        let place: Place

        init(_ kind: ContentPlace) throws {
            let files = AssetTown.files()
            files.put([], at: "/in/empty")
            files.put((0..<40_500).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 9) }, at: "/in/large")
            files.put([UInt8](repeating: 5, count: 32_000), at: "/in/full")
            place = Place(kind, "store", files)
            town = try AssetTown(over: place.store, files: files)
            try town.makeZones(AssetTown.notes, AssetTown.other)
            try town.makeZones(AssetTown.notes, by: town.bob)
            for (name, path) in [("a", "empty"), ("b", "large"), ("c", "full"), ("d", "0"), ("e", "0"), ("f", "1")] {
                try save(name, path)
            }
            for (name, path) in [("a", "large"), ("b", "2")] { try save(name, path, by: town.bob) }
        }

        static let contentCount = 7

        func save(_ name: String, _ path: String, by account: StoredAccount? = nil) throws {
            let answer = try town.modify([.new(name, ["image": .asset(.file(path: "/in/\(path)"))])], by: account)
            for result in answer.saves { _ = try result.get() }
        }

        func delete(_ names: String...) throws {
            for result in try town.modify([], deleting: names.map { .note($0) }).deletes { _ = try result.get() }
            _ = try AssetCollector(engine: town.service.engine, store: assets).collectOrphans()
        }

        var assets: AssetStore { get throws { try #require(town.service.assets) } }

        func copier(
            into target: Place, over store: (any OrderedStore)? = nil, onContents: @escaping () -> Void = {}
        ) throws -> StoreCopier {
            StoreCopier(
                from: try place.engine(), to: store ?? target.store,
                assets: (
                    try assets,
                    {
                        onContents()
                        return target.assets($0)
                    }
                ), draw: UUID.init, pageEntryCount: 20)
        }

        /// The key of the content that a record of Alice holds.
        func key(of path: String) throws -> AssetKey {
            let bytes = try #require(place.files.content(at: "/in/\(path)"))
            return AssetKey(owner: town.alice.userName, digest: ContentDigest.sha256(bytes))
        }

        /// The name of its parts; nil where contents are files.
        func name(of key: AssetKey) throws -> [UInt8]? { try assets.stored?.names(of: key).first }
    }

    /// What must be equal in all copies: the entries except those that only one engine has, the ledger's without the
    /// numbers of uploads; and the bytes of all contents.
    private struct Whole: Equatable {
        var entries: [[UInt8]: [UInt8]] = [:]
        var contents: [[UInt8]: [UInt8]] = [:]

        init(_ place: Place) throws {
            let engine = try place.engine()
            let assets = place.assets(engine)
            try engine.read { reader in
                var headers: Set<[UInt8]> = [GlobalKeys.format()]
                try reader.visitZones { _, listing in
                    headers.insert(listing.keys.header())
                    return .next
                }
                let own = [GlobalKeyspace.receipts, .uploads, .collecting, .operations, .work, .hosts, .runs].map(
                    GlobalKeys.keyspace)
                try reader.store.forEach(in: .everything) { key, value in
                    let (key, value) = ([UInt8](copying: key), [UInt8](copying: value))
                    guard !headers.contains(key), !own.contains(where: { $0.contains(key) }) else { return }
                    entries[key] = value
                    guard GlobalKeys.keyspace(.assets).contains(key) else { return }
                    var entry = try AssetEntry(decoding: value.span)
                    #expect((entry.upload == nil) == (place.memory == nil))
                    let (owner, digest) = try GlobalKeys.readAssetKey(key.span)
                    var content: [UInt8] = []
                    let found = try assets.readContent(
                        AssetKey(owner: owner, digest: digest), upload: entry.upload
                    ) { content += $0[..<$1] }
                    #expect(found == digest)
                    entry.upload = nil
                    entries[key] = entry.encoded()
                    contents[key] = content
                }
            }
        }
    }

    /// The verifier's findings.
    private func findings(_ place: Place) throws -> [AssetFinding] {
        let engine = try place.engine()
        let verifier = AssetVerifier(engine: engine, store: place.assets(engine))
        return try verifier.verifyCounts(addingTo: verifier.verify(), owner: CloudService.assetOwner).findings
    }

    private func error(_ body: () throws -> Void) -> StoreError? {
        do { try body() } catch { return error as? StoreError }
        return nil
    }

    private func isStore(_ place: Place) -> Bool { (try? place.engine()) != nil }

    // MARK: Whole copies

    @Test(
        "contents go from files to a store and back, and from store to store, unchanged and verified",
        arguments: [
            [.files, .store, .files], [.store, .files, .store], [.store, .store], [.files, .store, .store, .files],
        ]
            as [[ContentPlace]])
    func chains(kinds: [ContentPlace]) throws {
        let source = try Source(kinds[0])
        let whole = try Whole(source.place)
        #expect(whole.contents.count == Source.contentCount)
        var from = source.place
        var digests: Set<[UInt8]> = []
        for (number, kind) in kinds.enumerated().dropFirst() {
            let to = Place(kind, "copy\(number)", source.place.files)
            let engine = try from.engine()
            var copier = StoreCopier(
                from: engine, to: to.store, assets: (from.assets(engine), to.assets), draw: UUID.init)
            let report = try copier.run()
            #expect(report.contentCount == Source.contentCount)
            #expect(report.findings == [])
            #expect(try Whole(to) == whole)
            #expect(try findings(to) == [])
            if let memory = to.memory {
                #expect(memory.count == Source.contentCount)
                #expect(memory.largestAppend == 16 * memory.partByteCount)
            }
            digests.insert(report.digest)
            from = to
        }
        // Headers of zones have new incarnations in each copy, so only a copy of the same source has the same digest.
        #expect(digests.count == kinds.count - 1)
    }

    @Test("two copies of one store have one digest, wherever their contents are")
    func digests() throws {
        let source = try Source(.files)
        let digests = try ContentPlace.allCases.map { kind in
            var copier = try source.copier(into: Place(kind, "\(kind)", source.place.files))
            return try copier.run().digest
        }
        #expect(Set(digests).count == 1)
    }

    @Test("between stores a content keeps its name")
    func names() throws {
        let source = try Source(.store)
        let target = Place(.store, "copy", source.place.files)
        var copier = try source.copier(into: target)
        _ = try copier.run()
        #expect(target.memory?.names(after: nil, limit: 100) == source.place.memory?.names(after: nil, limit: 100))
    }

    @Test(
        "a copied store is used like any other: its contents are held, saved again, and collected")
    func used() throws {
        let source = try Source(.files)
        let target = Place(.store, "copy", source.place.files)
        var copier = try source.copier(into: target)
        _ = try copier.run()
        let engine = try target.engine()
        let (assets, clock) = (target.assets(engine), BenchClock())
        let ledger = AssetLedger(store: assets)
        let collector = AssetCollector(engine: engine, store: assets)
        let owner = source.town.alice.userName
        // One that is there is not sent again; and when the last record has gone, it is collected.
        let asset = try assets.takeIn(path: "/in/1", owner: owner)
        #expect(target.memory?.count == Source.contentCount)
        try engine.transact { transaction in
            try ledger.settle(
                adding: [asset: 1], removing: [asset: 2], owner: owner, atUptimeSeconds: clock.uptimeSeconds,
                in: transaction)
        }
        assets.release([asset], owner: owner)
        #expect(try collector.collectOrphans() == 1)
        #expect(try collector.sweep().filesRemoved == 0)
        #expect(target.memory?.count == Source.contentCount - 1)
    }

    // MARK: Interrupted copies

    @Test("wherever sending contents fails, the copy is no store, and resumed it is whole and has nothing else")
    func resumedIntoStore() throws {
        var failedCount = 0
        for kind in ContentPlace.allCases {
            let source = try Source(kind)
            let whole = try Whole(source.place)
            for number in 1...100 {
                let target = Place(.store, "copy", source.place.files)
                target.memory?.fail(atAppend: number, StoreError(.diskFull, "The disk is full."))
                var copier = try source.copier(into: target)
                let failure = error { _ = try copier.run() }
                guard failure != nil else { break }
                failedCount += 1
                #expect(failure?.code == .diskFull)
                #expect(!isStore(target))
                let sent = target.memory?.count ?? 0
                target.memory?.fail(atAppend: 100, StoreError(.diskFull, "Never."))
                #expect(try copier.run(resuming: true).contentCount == Source.contentCount)
                #expect(try Whole(target) == whole)
                #expect(try findings(target) == [])
                #expect(target.memory?.count == Source.contentCount)
                #expect(sent <= Source.contentCount)
            }
        }
        // Seven contents, of which two take three commits and one takes two.
        #expect(failedCount == 2 * 12)
    }

    @Test("wherever writing files fails, the copy is no store, and resumed it is whole", arguments: [1, 3])
    func resumedIntoFiles(stride step: Int) throws {
        let source = try Source(.store)
        let whole = try Whole(source.place)
        var number = 1
        while true {
            let target = Place(.files, "copy\(step)-\(number)", source.place.files)
            var copier = try source.copier(into: target)
            source.place.files.fail(at: number, repeats: true)
            let failed = (try? copier.run()) == nil
            source.place.files.clearFailure()
            guard failed else { break }
            #expect(!isStore(target))
            _ = try copier.run(resuming: true)
            #expect(try Whole(target) == whole)
            #expect(try findings(target) == [])
            number += step
            try #require(number < 1_000)
        }
        #expect(number > 20)
    }

    @Test("a resumed copy sends only what is missing, and removes parts of others")
    func resumedOnce() throws {
        let source = try Source(.files)
        let target = Place(.store, "copy", source.place.files)
        target.memory?.fail(atAppend: 8, StoreError(.diskFull, "The disk is full."))
        var copier = try source.copier(into: target)
        #expect(error { _ = try copier.run() }?.code == .diskFull)
        let sent = target.memory?.names(after: nil, limit: 100) ?? []
        #expect(!sent.isEmpty)
        // As an attempt leaves a content whose record was deleted before the next one.
        let stray = ContentKeyParts(owner: source.town.alice.userName, digest: [1, 2], upload: UUID())
        try target.memory?.append([[1]], from: 0, to: GlobalKeys.content(stray))
        // Five commits are missing, and at most two more of the content that was interrupted.
        target.memory?.fail(atAppend: 8, StoreError(.diskFull, "Too much was sent."))
        _ = try copier.run(resuming: true)
        #expect(try Whole(target) == Whole(source.place))
        #expect(target.memory?.count == Source.contentCount)
    }

    @Test(
        "what was saved and deleted before a copy is resumed is in it, and what has gone is not",
        arguments: ContentPlace.allCases)
    func changed(kind: ContentPlace) throws {
        let source = try Source(kind)
        let target = Place(.store, "copy", source.place.files)
        target.memory?.fail(atAppend: 9, StoreError(.diskFull, "The disk is full."))
        var copier = try source.copier(into: target)
        #expect(error { _ = try copier.run() }?.code == .diskFull)
        try source.delete("b", "d", "e")
        try source.save("new", "3")
        _ = try copier.run(resuming: true)
        #expect(try Whole(target) == Whole(source.place))
        #expect(target.memory?.count == Source.contentCount - 1)
        #expect(try findings(target) == [])
    }

    // MARK: Losses

    /// Where contents come from and go to, if one of the sides is a store.
    private static let mixed: [(ContentPlace, ContentPlace)] = [(.files, .store), (.store, .files), (.store, .store)]

    @Test(
        "a content that the source has lost is named with its record, and with its restored content the copy goes on",
        arguments: mixed)
    func lost(kind: ContentPlace, other: ContentPlace) throws {
        let source = try Source(kind)
        let target = Place(other, "copy", source.place.files)
        let key = try source.key(of: "1")
        let bytes = try #require(source.place.files.content(at: "/in/1"))
        let (name, path) = (try source.name(of: key), try source.assets.directory.file(of: key))
        if let name {
            source.place.memory?.damage(0, of: name, to: nil)
        } else {
            try source.place.files.removeFile(path)
        }
        var copier = try source.copier(into: target)
        let failure = error { _ = try copier.run() }
        #expect(failure?.code == .corruption)
        #expect(failure?.fields["record"] == "f")
        #expect(failure?.fields["zone"] == "Notes")
        #expect(failure?.fields["container"] == AssetTown.container.text)
        #expect(failure?.fields["file"] == (name == nil ? path : nil))
        #expect(failure?.fields["finding"] == "\(AssetFinding.missing(key))")
        #expect(!isStore(target))
        if let name {
            source.place.memory?.damage(0, of: name, to: bytes)
        } else {
            source.place.files.put(bytes, at: path)
        }
        _ = try copier.run(resuming: true)
        #expect(try Whole(target) == Whole(source.place))
    }

    @Test("a damaged content is never copied, and is named with its record; repaired, it is copied", arguments: mixed)
    func damaged(kind: ContentPlace, other: ContentPlace) throws {
        let source = try Source(kind)
        let target = Place(other, "copy", source.place.files)
        let key = try source.key(of: "large")
        let bytes = try #require(source.place.files.content(at: "/in/large"))
        let (name, path) = (try source.name(of: key), try source.assets.directory.file(of: key))
        let part = Array(bytes[1_000..<2_000])
        var wrong = bytes
        wrong[1_500] ^= 1
        if let name {
            source.place.memory?.damage(1, of: name, to: Array(wrong[1_000..<2_000]))
        } else {
            source.place.files.put(wrong, at: path)
        }
        var copier = try source.copier(into: target)
        let failure = error { _ = try copier.run() }
        #expect(failure?.code == .corruption)
        #expect(failure?.fields["record"] == "b")
        #expect(failure?.fields["finding"] == "\(AssetFinding.damaged(key))")
        #expect(!isStore(target))
        if let name {
            source.place.memory?.damage(1, of: name, to: part)
        } else {
            source.place.files.put(bytes, at: path)
        }
        _ = try copier.run(resuming: true)
        #expect(try Whole(target) == Whole(source.place))
        #expect(try findings(target) == [])
    }

    @Test(
        "if a host removes a content that the snapshot has, the copy says to resume, and resumed it is whole",
        arguments: mixed)
    func overtaken(kind: ContentPlace, other: ContentPlace) throws {
        let source = try Source(kind)
        let target = Place(other, "copy", source.place.files)
        var copier = try source.copier(into: target) {
            try? source.delete("f")
            try? source.save("later", "4")
        }
        let failure = error { _ = try copier.run() }
        #expect(failure?.code == .unavailable)
        #expect(failure?.message.contains("resume the copy") == true)
        #expect(!isStore(target))
        var again = try source.copier(into: target)
        _ = try again.run(resuming: true)
        #expect(try Whole(target) == Whole(source.place))
        #expect(try findings(target) == [])
    }

    @Test("a content that was saved again meanwhile, under another name, is copied all the same")
    func savedAgain() throws {
        let source = try Source(.store)
        let target = Place(.files, "copy", source.place.files)
        let whole = try Whole(source.place)
        var copier = try source.copier(into: target) {
            try? source.delete("f")
            try? source.save("f", "1")
        }
        _ = try copier.run()
        #expect(try Whole(target).contents == whole.contents)
    }
}
