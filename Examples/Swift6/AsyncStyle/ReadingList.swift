// A reading list as one writes it today: async calls, results by item, a task group.

import CloudKit

/// The reading list of the signed-in user.
public struct ReadingList: Sendable {
    /// A book on the list.
    public struct Book: Hashable, Sendable {
        /// What the record is named by.
        public var isbn: String
        /// The title on the cover.
        public var title: String
        /// The number of pages.
        public var pageCount: Int

        /// A book.
        public init(isbn: String, title: String, pageCount: Int) {
            self.isbn = isbn
            self.title = title
            self.pageCount = pageCount
        }
    }

    private let container: CKContainer
    private var database: CKDatabase { container.privateCloudDatabase }
    private let zoneID = CKRecordZone.ID(zoneName: "Reading")

    /// The list in a container.
    public init(container: CKContainer = .default()) {
        self.container = container
    }

    /// Whether there is an account for the list.
    public func isAvailable() async throws -> Bool {
        try await container.accountStatus() == .available
    }

    /// Creates the shelf and the books on it, all or nothing.
    public func add(_ books: [Book], to shelf: String) async throws -> Int {
        try await database.modifyRecordZones(saving: [CKRecordZone(zoneID: zoneID)], deleting: [])
        let shelfRecord = CKRecord(recordType: "Shelf", recordID: id("shelf-\(shelf)"))
        shelfRecord["name"] = shelf
        let records = books.map { book -> CKRecord in
            let record = CKRecord(recordType: "Book", recordID: id(book.isbn))
            record["title"] = book.title
            record["pageCount"] = book.pageCount
            record["shelf"] = CKRecord.Reference(record: shelfRecord, action: .deleteSelf)
            record.setParent(shelfRecord)
            return record
        }
        let (saveResults, _) = try await database.modifyRecords(
            saving: [shelfRecord] + records, deleting: [], savePolicy: .changedKeys, atomically: true)
        return saveResults.values.filter { (try? $0.get()) != nil }.count
    }

    /// The books with these numbers on the list, in the requested order.
    public func books(_ isbns: [String]) async throws -> [Book] {
        let results = try await database.records(for: isbns.map(id), desiredKeys: ["title", "pageCount"])
        return isbns.compactMap { isbn in
            guard case .success(let record)? = results[id(isbn)] else { return nil }
            let pageCount: Int = record["pageCount"] ?? 0
            return Book(isbn: isbn, title: record["title"] as? String ?? "", pageCount: pageCount)
        }
    }

    /// Increments a book's pages from several tasks at once; a late task takes the server's record and tries again.
    public func read(_ isbn: String, pages: Int, inParallel taskCount: Int) async throws -> Int {
        let total = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<taskCount {
                group.addTask { try await addToCount(isbn, pages) }
            }
            return try await group.reduce(0) { max($0, $1) }
        }
        return total
    }

    private func addToCount(_ isbn: String, _ pages: Int) async throws -> Int {
        var record = try await database.record(for: id(isbn))
        while true {
            let read = (record["pagesRead"] as? Int64 ?? 0) + Int64(pages)
            record["pagesRead"] = read
            do {
                try await database.save(record)
                return Int(read)
            } catch let error as CKError where error.code == .serverRecordChanged {
                guard let server = error.serverRecord else { throw error }
                record = server
            }
        }
    }

    /// Deletes a shelf with all its books, and returns which of `isbns` still exist.
    public func remove(shelf: String, thenLookFor isbns: [String]) async throws -> [Book] {
        try await database.configuredWith(configuration: quickConfiguration) { database in
            _ = try await database.deleteRecord(withID: id("shelf-\(shelf)"))
        }
        return try await books(isbns)
    }

    private var quickConfiguration: CKOperation.Configuration {
        let configuration = CKOperation.Configuration()
        configuration.qualityOfService = .userInitiated
        configuration.timeoutIntervalForRequest = 10
        return configuration
    }

    private func id(_ name: String) -> CKRecord.ID {
        CKRecord.ID(recordName: name, zoneID: zoneID)
    }
}
