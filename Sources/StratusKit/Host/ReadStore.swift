// A store that is only read, with CloudKit's calls above it: for the tool, which needs no lease and no upkeep for that.

package import StratusCloud
import StratusModel
package import StratusRecords
import StratusStore

/// A store that was opened for reading, and the containers over it. Every change is refused.
package final class ReadStore: Sendable {
    package let engine: RecordEngine
    /// The server's rules.
    package let service: CloudService
    private let session: CloudSession

    /// `store` refuses transactions. `assets` are its contents, for reading; nil if it has none.
    package init(_ engine: RecordEngine, assets: AssetStore? = nil) {
        self.engine = engine
        let environment = CloudEnvironment(clock: SystemClock(), identifiers: RandomIdentifiers())
        service = CloudService(engine: engine, environment: environment, assets: assets)
        session = CloudSession(server: service, clock: SystemClock())
    }

    /// Finishes the requests of its containers, and closes the store.
    package func close() {
        session.close()
        session.activity.waitUntilOver()
        engine.store.close()
    }

    /// The account with the store's own identifier, or nil.
    package func account(id: String) throws -> Stratus.Account? {
        try StratusError.wrapping { try service.account(AccountID(id)).map(Stratus.Account.init) }
    }

    /// A container for one account, for reading.
    package func container(_ identifier: String, signedInAs account: Stratus.Account) -> CKContainer {
        CKContainer(session: session, identifier: identifier, account: account.accountID)
    }
}
