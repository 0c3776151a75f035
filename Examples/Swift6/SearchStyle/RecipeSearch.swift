// The model of a search screen: predicates from the typed text, a page at a time, more on scrolling.

import CloudKit

/// What a search screen shows.
public actor RecipeSearch {
    /// What can be searched by.
    public struct Filter: Sendable {
        /// The beginning of the name; empty for all.
        public var prefix = ""
        /// Minutes at most.
        public var longestMinutes: Int?
        /// What must be among the tags.
        public var tags: [String] = []
        /// The kitchens that are meant; none for all.
        public var kitchens: [String] = []
        /// Not older than this.
        public var newerThan: Date?

        /// Everything.
        public init() {}
    }

    private let database: CKDatabase
    private let zoneID: CKRecordZone.ID?
    private var cursor: CKQueryOperation.Cursor?

    /// The names that were found so far.
    public private(set) var names: [String] = []

    /// Whether there is more to load.
    public var hasMore: Bool { cursor != nil }

    /// A search in a zone.
    public init(zoneID: CKRecordZone.ID?, database: CKDatabase = CKContainer.default().privateCloudDatabase) {
        self.zoneID = zoneID
        self.database = database
    }

    private func predicate(_ filter: Filter) -> NSPredicate {
        var predicates: [NSPredicate] = []
        if !filter.prefix.isEmpty { predicates.append(NSPredicate(format: "name BEGINSWITH %@", filter.prefix)) }
        if let minutes = filter.longestMinutes { predicates.append(NSPredicate(format: "minutes <= %d", minutes)) }
        for tag in filter.tags { predicates.append(NSPredicate(format: "%K CONTAINS %@", "tags", tag)) }
        if !filter.kitchens.isEmpty { predicates.append(NSPredicate(format: "kitchen IN %@", filter.kitchens)) }
        if let date = filter.newerThan {
            predicates.append(NSPredicate(format: "modificationDate > %@", date as NSDate))
        }
        return predicates.isEmpty
            ? NSPredicate(value: true) : NSCompoundPredicate(andPredicateWithSubpredicates: predicates)
    }

    /// Begins a search.
    public func search(_ filter: Filter, pageSize: Int = CKQueryOperation.maximumResults) async throws {
        let query = CKQuery(recordType: "Recipe", predicate: predicate(filter))
        query.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
        let (matchResults, queryCursor) = try await database.records(
            matching: query, inZoneWith: zoneID, desiredKeys: ["name"], resultsLimit: pageSize)
        names = []
        take(matchResults, queryCursor)
    }

    /// Loads the next page.
    public func loadMore() async throws {
        guard let cursor = cursor else { return }
        let (matchResults, queryCursor) = try await database.records(continuingMatchFrom: cursor, desiredKeys: ["name"])
        take(matchResults, queryCursor)
    }

    private func take(
        _ matchResults: [(CKRecord.ID, Result<CKRecord, Error>)], _ queryCursor: CKQueryOperation.Cursor?
    ) {
        names += matchResults.compactMap { (try? $0.1.get())?["name"] as? String }
        cursor = queryCursor
    }
}

/// Counts the matches of a query, page by page, with operations.
public func countRecipes(
    matching query: CKQuery, in database: CKDatabase, completion: @escaping @Sendable (Result<Int, Error>) -> Void
) {
    func run(_ operation: CKQueryOperation, _ countSoFar: Int) {
        var count = countSoFar
        operation.desiredKeys = []
        operation.resultsLimit = 2
        operation.recordMatchedBlock = { _, result in
            if case .success = result { count += 1 }
        }
        operation.queryResultBlock = { result in
            switch result {
            case .success(let cursor?): run(CKQueryOperation(cursor: cursor), count)
            case .success(nil): completion(.success(count))
            case .failure(let error): completion(.failure(error))
            }
        }
        database.add(operation)
    }
    run(CKQueryOperation(query: query), 0)
}
