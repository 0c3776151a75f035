// The example programs against a store of their own, with their output and the contents of the store afterwards.
//
// Each is run twice: as compiled in Swift 6 mode and as compiled in Swift 5 mode.

import CloudKit
import CloudKitExamples
import CloudKitExamplesSwift5
import StratusTesting
import Testing

@Suite("Examples", .stratus)
struct ExampleTests {
    @Test("[C-05][S-05][S-06] the notes app merges the changes of two devices")
    func notes() async throws {
        let phone = CloudKitExamples.NotesLibrary()
        let tablet = CloudKitExamples.NotesLibrary()
        try await phone.setUp()
        try await tablet.setUp()
        await phone.edit(
            .init(
                id: "list", title: "Groceries", body: "milk", tags: ["home"],
                place: CLLocationCoordinate2D(latitude: 52.5, longitude: 13.4)))
        try await phone.push("list")
        var note = try #require(try await tablet.pull("list"))
        #expect(note.title == "Groceries")
        #expect(note.body == "milk")
        #expect(note.place?.latitude == 52.5)

        note.title = "Shopping"
        note.tags = ["home", "today"]
        await tablet.edit(note)
        try await tablet.push("list")
        var stale = try #require(await phone.note("list"))
        stale.body = "milk, eggs"
        stale.isPinned = true
        await phone.edit(stale)
        let merged = try await phone.push("list")
        #expect(merged.title == "Shopping")
        #expect(merged.body == "milk, eggs")
        #expect(merged.tags == ["home", "today"])
        #expect(merged.isPinned)
        #expect(try await tablet.pull("list") == merged)
        #expect(await phone.journal == ["made zone Notes", "saved list", "merged list", "saved list"])
        #expect(await tablet.journal == ["saved list"])

        try await tablet.delete("list")
        #expect(try await phone.pull("list") == nil)
    }

    @Test("[C-05][S-05][S-06] the notes app in Swift 5 mode keeps both texts if both devices changed the note")
    func notesInSwift5() async throws {
        let phone = CloudKitExamplesSwift5.NotesLibrary()
        let tablet = CloudKitExamplesSwift5.NotesLibrary()
        try await phone.setUp()
        await phone.edit(.init(id: "plan", title: "Plan", body: "begin"))
        try await phone.push("plan")
        var note = try #require(try await tablet.pull("plan"))
        note.body = "begin late"
        await tablet.edit(note)
        try await tablet.push("plan")
        note.body = "begin early"
        await phone.edit(note)
        #expect(try await phone.push("plan").body == "begin late\n---\nbegin early")
    }

    @Test("[O-07][O-09] the outbox sends waiting items when its operations run, and reads them back")
    func outbox() async {
        let outbox = CloudKitExamples.Outbox()
        outbox.put("one", as: "a")
        outbox.put("two", as: "b")
        await withCheckedContinuation { done in outbox.flush { done.resume() } }
        #expect(outbox.log.sorted() == ["read a: one", "read b: two", "sent a", "sent b"])

        let old = CloudKitExamplesSwift5.Outbox()
        old.put("three", as: "a")
        await withCheckedContinuation { done in old.flush { done.resume() } }
        #expect(old.log == ["sent a", "read a: three"])
    }

    @Test("[Z-04][S-12] the notes app creates its zone again when it is gone")
    func lostZone() async throws {
        let library = CloudKitExamples.NotesLibrary()
        try await library.setUp()
        await library.edit(.init(id: "list", title: "Groceries"))
        try await library.push("list")
        try await CKContainer.default().privateCloudDatabase.deleteRecordZone(
            withID: CKRecordZone.ID(zoneName: "Notes"))
        try await library.push("list")
        #expect(
            await library.journal == ["made zone Notes", "saved list", "zone is gone", "made zone Notes", "saved list"])
        #expect(try await library.pull("list")?.title == "Groceries")
    }

    @Test("[A-07][L-01][O-05] the importer saves in batches, splits oversized ones, and counts what it saved")
    func importer() async throws {
        let lines = (1...1_000).map { "Place \($0), \(Double($0) / 20), \(-Double($0) / 10)" } + ["nowhere"]
        let (summary, completed) = try await onThread { () throws -> (PlaceImporter.Summary, Int64) in
            let importer = PlaceImporter(batchSize: 450)
            return (try importer.importLines(lines), importer.progress.completedUnitCount)
        }
        #expect(summary.savedCount == 1_000)
        #expect(summary.batchCount == 5)
        #expect(summary.refused == [:])
        #expect(summary.malformedLines == [1_001])
        #expect(completed == 1_000)
        let database = CKContainer.default().privateCloudDatabase
        let id = CKRecord.ID(recordName: "place-1000", zoneID: CKRecordZone.ID(zoneName: "Places"))
        let record = try await database.record(for: id)
        #expect(record["name"] as? String == "Place 1000")
        #expect((record["location"] as? CLLocation)?.coordinate.latitude == 50)
        #expect(record["line"] as? Int == 1_000)
    }

    @Test("the importer in Swift 5 mode does the same")
    func importerInSwift5() async throws {
        let summary = try await onThread {
            try CloudKitExamplesSwift5.PlaceImporter().importLines(["A, 1, 2", "B, 3, 4"])
        }
        #expect(summary.savedCount == 2)
        #expect(summary.batchCount == 1)
    }

    private typealias PlaceImporter = CloudKitExamples.PlaceImporter

    private static let guestBookLog = [
        "account: available", "user: known", "saved first: Ada", "conflict", "zones: Pages", "sent orphan",
        "sent page-1", "page-1: saved", "orphan: error 26", "saved 1 of 2", "failed: orphan", "fetched: Welcome",
        "unknown: not found", "deleted page-1",
    ]

    @Test("[A-06][O-04] the guest book of 2016 gets its completion blocks in order, with partial failures")
    func guestBook() async throws {
        let book = CloudKitExamples.GuestBook()
        let error = await withCheckedContinuation { continuation in
            book.demonstrate { continuation.resume(returning: $0) }
        }
        #expect(error == nil)
        #expect(Self.settled(book.log) == Self.settled(Self.guestBookLog))
    }

    @Test("[A-06][O-04] the guest book in Swift 5 mode does the same")
    func guestBookInSwift5() async throws {
        let book = CloudKitExamplesSwift5.GuestBook()
        let error = await withCheckedContinuation { continuation in
            book.demonstrate { continuation.resume(returning: $0) }
        }
        #expect(error == nil)
        #expect(Self.settled(book.log) == Self.settled(Self.guestBookLog))
    }

    private static let tourLog = [
        "made Tour", "bridge: Bridge", "tower: unknown", "zone _defaultZone", "saved: true",
        "dropped: started 1, cancelled 1", "last: started 1, cancelled 0",
    ]

    @Test("[O-09] operations derived from CloudKit's, with initialisers of their own, run like them")
    func operationTour() async throws {
        let tour = CloudKitExamples.OperationTour()
        let log = await withCheckedContinuation { continuation in
            tour.run { continuation.resume(returning: $0) }
        }
        #expect(log == Self.tourLog)
    }

    @Test("[O-09] derived operations in Swift 5 mode do the same")
    func operationTourInSwift5() async throws {
        let tour = CloudKitExamplesSwift5.OperationTour()
        let log = await withCheckedContinuation { continuation in
            tour.run { continuation.resume(returning: $0) }
        }
        #expect(log == Self.tourLog)
    }

    @Test("[R-03][R-09][A-11] the reading list counts correctly from many tasks, and is deleted with its shelf")
    func readingList() async throws {
        let list = CloudKitExamples.ReadingList()
        #expect(try await list.isAvailable())
        let books = (1...3).map {
            CloudKitExamples.ReadingList.Book(isbn: "isbn-\($0)", title: "Volume \($0)", pageCount: 100 * $0)
        }
        #expect(try await list.add(books, to: "travel") == 4)
        #expect(try await list.books(["isbn-3", "isbn-9", "isbn-1"]) == [books[2], books[0]])
        #expect(try await list.read("isbn-2", pages: 5, inParallel: 8) == 40)
        #expect(try await list.remove(shelf: "travel", thenLookFor: books.map(\.isbn)) == [])
    }

    @Test("[R-03][R-09][A-11] the reading list in Swift 5 mode does the same")
    func readingListInSwift5() async throws {
        let list = CloudKitExamplesSwift5.ReadingList()
        let book = CloudKitExamplesSwift5.ReadingList.Book(isbn: "isbn-1", title: "One", pageCount: 10)
        #expect(try await list.add([book], to: "home") == 2)
        #expect(try await list.books(["isbn-1"]) == [book])
        #expect(try await list.read("isbn-1", pages: 1, inParallel: 4) == 4)
        #expect(try await list.remove(shelf: "home", thenLookFor: ["isbn-1"]) == [])
    }

    @Test("[P-01][P-05][P-10][P-13][P-15][SH-04] several people plan a trip, and each sees what they may")
    func trip() async throws {
        let (alice, bob, carol) = try people()
        let organiser = CloudKitExamples.TripPlanner(container: alice)
        let share = try await organiser.plan("Alps")
        #expect(try await organiser.invite(["bob@example.com", "nowhere"], to: share, canEdit: true) == ["nowhere"])
        #expect(try await organiser.invite(["carol@example.com"], to: share, canEdit: false) == [])
        #expect(
            organiser.people(on: share) == [
                "Alice (organises, me)", "bob@example.com (is invited)", "carol@example.com (is invited)",
            ])
        let url = try #require(share.url)
        let stranger = CloudKitExamples.TripPlanner(container: try somebody("Dave"))
        await #expect(throws: CloudKitExamples.TripPlanner.Problem.notInvited) { try await stranger.join(url) }

        let guest = CloudKitExamples.TripPlanner(container: bob)
        let guests = try await guest.join(url)
        try await guest.add("Hut", to: guests)
        try await organiser.add("Summit", to: share)
        let reader = CloudKitExamples.TripPlanner(container: carol)
        let readers = try await reader.join(url)
        await #expect(throws: CloudKitExamples.TripPlanner.Problem.readOnly) {
            try await reader.add("Bar", to: readers)
        }
        let stops = try await reader.stops(["Hut", "Summit", "Bar"], on: readers)
        #expect(stops.map(\.name) == ["Hut", "Summit"])
        #expect(stops.allSatisfy { $0.addedBy != nil })
        #expect(try await guest.stops(["Hut"], on: guests) == [.init(name: "Hut")])
        let members = organiser.people(on: try await organiser.fetch(share.recordID))
        #expect(members == ["Alice (organises, me)", "Bob (comes)", "Carol (comes)"])
        #expect(try await guest.organisers() == [try await alice.userRecordID().recordName])

        try await organiser.remove("Bob", from: share)
        #expect(try await guest.stops(["Hut"], on: guests) == [])
        try await reader.leave(readers)
        #expect(try await reader.organisers() == [])
        let latest = try await organiser.fetch(share.recordID)
        #expect(organiser.people(on: latest) == ["Alice (organises, me)"])
        try await organiser.leave(latest)
        #expect(try await organiser.stops(["Hut", "Summit"], on: share).count == 2)
    }

    @Test("[P-13] the trip planner in Swift 5 mode does the same")
    func tripInSwift5() async throws {
        let (alice, bob, _) = try people()
        let organiser = CloudKitExamplesSwift5.TripPlanner(container: alice)
        let share = try await organiser.plan("Coast")
        #expect(try await organiser.invite(["bob@example.com"], to: share, canEdit: true) == [])
        let guest = CloudKitExamplesSwift5.TripPlanner(container: bob)
        let guests = try await guest.join(try #require(share.url))
        try await guest.add("Beach", to: guests)
        #expect(try await organiser.stops(["Beach"], on: share).map(\.name) == ["Beach"])
        try await guest.leave(guests)
        #expect(try await guest.organisers() == [])
    }

    @Test("[P-01][M-02][M-06] the invitation desk looks people up, shows the root before accepting, and accepts")
    func invitationDesk() async throws {
        let (alice, bob, _) = try people()
        let share = try await CloudKitExamples.TripPlanner(container: alice).plan("Lakes")
        let desk = CloudKitExamples.InvitationDesk(container: alice)
        let found = await withCheckedContinuation { done in
            desk.lookUp(["bob@example.com", "nowhere"]) { done.resume(returning: $0) }
        }
        #expect(desk.log == ["found bob@example.com", "nowhere: 12"])
        for participant in found { share.addParticipant(participant) }
        try await alice.privateCloudDatabase.save(share)
        let urls = [try #require(share.url), try #require(URL(string: "https://example.com/none"))]
        let bobs = CloudKitExamples.InvitationDesk(container: bob)
        let joined = await withCheckedContinuation { done in bobs.open(urls) { done.resume(returning: $0) } }
        #expect(bobs.log == ["invited to Lakes", "none: 11", "joined Lakes"])
        #expect(joined.first?.currentUserParticipant?.acceptanceStatus == .accepted)

        let old = CloudKitExamplesSwift5.InvitationDesk(container: bob)
        let again = await withCheckedContinuation { done in old.open(urls) { done.resume(returning: $0) } }
        #expect(again.count == 1)
        #expect(old.log == bobs.log)
    }

    // MARK: Helpers

    /// A container of a person with an account of their own.
    private func somebody(_ name: String) throws -> CKContainer {
        let store = try Stratus.current
        var components = PersonNameComponents()
        components.givenName = name
        let account = try store.createAccount(.init(emails: ["\(name.lowercased())@example.com"], name: components))
        return store.container("iCloud.com.example.trips", signedInAs: account)
    }

    private func people() throws -> (alice: CKContainer, bob: CKContainer, carol: CKContainer) {
        (try somebody("Alice"), try somebody("Bob"), try somebody("Carol"))
    }

    /// Runs code that waits for operations on a thread that may wait, with this test's store.
    private func onThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        let store = try Stratus.current
        return try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Swift.Result { try store.asCurrent { try body() } })
            }
        }
    }

    /// The lines; those of single items, whose order is free, are sorted in their place.
    private static func settled(_ lines: [String]) -> [String] {
        let free = lines.indices.filter { index in
            ["sent ", "page-1: ", "orphan: "].contains { lines[index].hasPrefix($0) }
        }
        var settled = lines
        for (place, line) in zip(free, free.map({ lines[$0] }).sorted()) { settled[place] = line }
        return settled
    }
}
