// The feed of a database: which zones changed since a token, and which are gone.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

extension CloudService {
    /// One page of the zones that changed for the caller since the request's token. The default zone is never among them
    /// (T-02, N-02).
    ///
    /// Throws `badDatabase` for the public database (T-02), `changeTokenExpired` for a token that was not given for just
    /// this and for one of another life of the store or of the database (T-09),
    /// `notAuthenticated` and the like, a planned fault, and the store's failures.
    package func fetchDatabaseChanges(
        _ request: FetchDatabaseChangesRequest, as caller: Caller, in database: DatabaseSelector
    ) throws(CloudError) -> FetchDatabaseChangesResponse {
        try reporting(.fetchDatabaseChanges, caller, itemCount: 1) { event in
            guard database != .public else {
                throw CloudError(
                    .badDatabase, "The public database has no feed of zones: query it instead.", ["rule": "T-02"])
            }
            try requireAccount(caller)
            let seal = try tokenKeeper.seal(of: engine, environment.identifiers)
            let response = try engine.read { reader in
                let account = try accountDirectory.requireAccount(of: caller, in: reader)
                let feed = DatabaseFeed(
                    service: self, account: account, container: caller.container, database: database, seal: seal,
                    reader: reader)
                return database == .shared ? try feed.sharedPage(request) : try feed.privatePage(request)
            }
            event.itemCount = response.changed.count + response.deleted.count
            return response
        }
    }
}

/// One request for changes of a database, in one snapshot.
struct DatabaseFeed {
    let service: CloudService
    let account: Account
    let container: ContainerName
    let database: DatabaseSelector
    let seal: TokenSeal
    let reader: RecordReader

    private var binding: TokenBinding {
        TokenBinding(user: account.userName, container: container, database: database)
    }

    /// What a token holds; nil without one.
    func opened<Token: LayoutValue>(_ token: [UInt8]?, _ type: Token.Type) throws -> Token? {
        guard let token else { return nil }
        guard let contents = seal.opened(token, .database, for: binding),
            let known = try? Token(decoding: contents.span)
        else { throw CloudError.foreignToken }
        return known
    }

    func sealed(_ token: some LayoutValue) throws -> [UInt8] {
        try seal.sealed(token.encoded(), .database, for: binding)
    }

    /// Which life of the store this is.
    func incarnation() throws -> UUID {
        guard let format = try reader.store.withValue(forKey: GlobalKeys.format(), { try FormatEntry(decoding: $0) })
        else {
            throw RecordsError(
                .corruption, "The store has lost its format: restore it from a backup.",
                ["key": "\(KeyDescription(GlobalKeys.format()))"])
        }
        return format.incarnation
    }

    func checkIncarnation(_ known: UUID, _ incarnation: UUID) throws {
        guard known != incarnation else { return }
        throw CloudError.expiredToken("the store was restored, copied or repaired")
    }

    /// Zones in one page.
    func pageCount(_ asked: Int) -> Int { FeedLimits(asked: asked, service.options).count }
}
