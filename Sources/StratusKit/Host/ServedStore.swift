// A store that another process has open and serves over its socket. The tool uses it instead of opening the store.
//
// Reading uses snapshots of the host, writing goes through the host's server. So the host's rules, options, events and
// notifications apply as to every request. Nothing in the store's directory is opened or written here.

package import Foundation
package import StratusCloud
package import StratusModel
package import StratusRecords

/// A store at the other end of a host's socket. Calls block their thread.
package final class ServedStore: Sendable {
    /// The record layer over the host's entries. It only reads.
    package let engine: RecordEngine
    /// The server's rules over the same entries. It only reads.
    package let service: CloudService
    private let client: LocalClient
    private let session: CloudSession

    /// Connects to the host of the store in a directory. Returns nil if no host serves it.
    ///
    /// Throws `StratusError` if the host refuses, and what reading the store throws.
    package init?(directory: String) throws {
        let client = try LocalSocketError.telling(of: directory) { try LocalClient(directory: directory) }
        guard let client else { return nil }
        self.client = client
        let store = RemoteStore(client)
        var options = RecordEngineOptions()
        options.ancestorCacheByteCount = 0
        engine = try LocalSocketError.telling(of: directory) {
            try RecordEngine(store: store, options: options, incarnation: UUID.drawn())
        }
        let environment = CloudEnvironment(clock: SystemClock(), identifiers: RandomIdentifiers())
        service = CloudService(engine: engine, environment: environment)
        session = CloudSession(server: RemoteServer(client: client), clock: SystemClock())
    }

    /// Finishes the requests of its containers.
    package func close() {
        session.close()
        session.activity.waitUntilOver()
    }

    private func ask<Answer: Decodable>(_ call: HostCall) throws -> Answer {
        try LocalSocketError.telling { try client.ask(.host(call)) }
    }

    /// Gets the progress of long work.
    package typealias Listener = (WorkProgress) -> Void

    private func ask<Answer: Decodable>(
        _ call: HostCall, _ progress: Listener, _ isStopping: () -> Bool
    ) throws -> Answer? {
        try LocalSocketError.telling { try client.ask(.host(call), telling: progress, isStopping: isStopping) }
    }

    // MARK: People

    /// The account with the store's own identifier, or nil.
    package func account(id: String) throws -> Stratus.Account? {
        try StratusError.wrapping { try service.account(AccountID(id)).map(Stratus.Account.init) }
    }

    /// As `Stratus.account(externalID:createIfMissing:)`.
    package func account(externalID: String, createIfMissing account: Stratus.NewAccount) throws -> Stratus.Account {
        try existing(ask(.createAccount(account.draft(externalID: externalID), onlyIfMissing: true)))
    }

    /// As `Stratus.createAccount(_:externalID:)`.
    package func createAccount(_ account: Stratus.NewAccount, externalID: String?) throws -> Stratus.Account {
        try existing(ask(.createAccount(account.draft(externalID: externalID), onlyIfMissing: false)))
    }

    /// As `Stratus.setHandles(emails:phoneNumbers:of:)`.
    package func setHandles(
        emails: Set<String>, phoneNumbers: Set<String>, of account: Stratus.Account
    ) throws -> Stratus.Account {
        let _: Done = try ask(.setHandles(.init(emails: emails, phoneNumbers: phoneNumbers), account.accountID))
        return try existing(account.accountID)
    }

    /// As `Stratus.setStanding(_:of:)`.
    package func setStanding(_ standing: Stratus.Standing, of account: Stratus.Account) throws -> Stratus.Account {
        let _: Done = try ask(.setStanding(AccountStanding(standing), account.accountID))
        return try existing(account.accountID)
    }

    /// As `Stratus.deleteAccountWithAllData(_:)`. `progress` gets how much was processed.
    package func deleteAccountWithAllData(_ account: Stratus.Account, progress: FreeingProgress.Listener?) throws {
        let _: Done? = try ask(
            .deleteAccount(account.accountID),
            { told in
                // Older hosts report only this part, without its name.
                let part = told.part.flatMap { FreeingPart(rawValue: $0) } ?? .departures
                progress?(FreeingProgress(part: part, doneCount: told.doneCount, totalCount: told.totalCount))
            }, { false })
    }

    private func existing(_ id: AccountID) throws -> Stratus.Account {
        guard let account = try account(id: id.text) else {
            throw StratusError(.unknownAccount, "The account was deleted.", ["id": id.text])
        }
        return account
    }

    /// A container for one account, over the host's server.
    package func container(_ identifier: String, signedInAs account: Stratus.Account) -> CKContainer {
        CKContainer(session: session, identifier: identifier, account: account.accountID)
    }

    // MARK: Shares

    /// As `Stratus.open(_:as:)`.
    package func open(_ url: URL, as account: Stratus.Account) throws -> CKShare.Metadata {
        session.metadata(
            try ask(.openShare(url: url.absoluteString, account.accountID)), as: account.accountID)
    }

    // MARK: The store

    /// As `Stratus.writeFailure`, of the store in a directory. Not served if no host answers at its socket.
    ///
    /// Throws `StratusError` if the host refuses, or does not answer within seconds.
    package static func writeFailure(
        ofStoreAt directory: String
    ) throws -> (isServed: Bool, failure: StratusError?) {
        let state: WriteState? = try ask(.writeFailure, ofStoreAt: directory, greetingSeconds: 2)
        return (state != nil, (state?.failure?.error).flatMap { StratusError.wrapped($0) })
    }

    /// As `Stratus.recover()`, of the store in a directory. Returns whether it had to be reopened; nil if no host
    /// serves it.
    ///
    /// Throws `StratusError` with the reason why it cannot be opened, and if the host refuses.
    package static func recover(storeAt directory: String) throws -> Bool? {
        let answer: Recovered? = try ask(.recover, ofStoreAt: directory)
        return answer?.isReopened
    }

    /// Sends a request to the host of a store that may not be readable now.
    private static func ask<Answer: Decodable>(
        _ call: HostCall, ofStoreAt directory: String, greetingSeconds: Double = LocalPatience().frameSeconds
    ) throws -> Answer? {
        try LocalSocketError.telling(of: directory) {
            try LocalClient(directory: directory, greetingSeconds: greetingSeconds)?.ask(.host(call))
        }
    }

    /// As `Stratus.importSchema(_:intoContainer:)`.
    package func importSchema(_ text: String, intoContainer identifier: String) throws {
        let _: Done = try ask(.importSchema(text, ContainerName(identifier)))
    }

    /// Fills and clears indexes until all match their schemas. `progress` gets the progress of each part. Returns false
    /// if `isStopping`, which is checked from time to time, ends the waiting; the host then stops.
    package func finishIndexes(
        progress: Listener = { _ in }, isStopping: () -> Bool = { false }
    ) throws -> Bool {
        try ask(.finishIndexes, progress, isStopping) as Done? != nil
    }

    /// Builds the indexes of a zone again from its records. `progress` gets the progress of each step. Returns false if
    /// `isStopping`, which is checked from time to time, ends the waiting; the host continues to the end, because the
    /// zone takes no requests before it.
    package func rebuild(
        _ zone: ZoneID, incarnation: UUID, progress: Listener = { _ in }, isStopping: () -> Bool = { false }
    ) throws -> Bool {
        try ask(.rebuild(zone, incarnation: incarnation), progress, isStopping) as Done? != nil
    }

    /// Removes what deleted zones and accounts have left behind. `progress` gets the progress of each part. Returns nil
    /// if `isStopping`, which is checked from time to time, ends the waiting; the host then stops.
    package func purgeDeletedZones(
        progress: Listener = { _ in }, isStopping: () -> Bool = { false }
    ) throws -> PurgeProgress? {
        try ask(.purgeZones, progress, isStopping)
    }

    /// Rewrites the store's files without deleted data. `progress` gets how many bytes of files were processed. Returns
    /// nil if `isStopping`, which is checked from time to time, ends the waiting; the host then stops before the next
    /// slice, and finished slices stay.
    package func compact(
        progress: Listener = { _ in }, isStopping: () -> Bool = { false }
    ) throws -> CompactedFiles? {
        try ask(.compact, progress, isStopping)
    }
}

extension LocalSocketError {
    /// Runs `body`, and converts its errors of this type for callers of this target.
    static func telling<Result>(of directory: String? = nil, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as LocalSocketError {
            throw error.told(of: directory)
        }
    }

    /// The error for callers of this target.
    fileprivate func told(of directory: String? = nil) -> any Error {
        var fields = fields
        fields["path"] = fields["path"] ?? directory
        return StratusError(.unavailable, text: message, fields, cause: nil)
    }
}

/// Watches what another process does with its store: the events of its host. Use it on one thread.
package final class HostWatch {
    /// The host's process.
    package let processID: Int32
    private let channel: LocalChannel

    /// Begins to watch the host of the store in a directory. Returns nil if no host serves it. Every later event is
    /// reported.
    ///
    /// Throws `StratusError` if the host refuses.
    package init?(directory: String) throws {
        let channel = try LocalSocketError.telling(of: directory) {
            let channel = try LocalClient.connect(directory)
            if let channel { let _: Done = try LocalClient.ask(.watch, over: channel) }
            return channel
        }
        guard let channel else { return nil }
        self.channel = channel
        processID = channel.peer?.process ?? 0
    }

    /// The result of waiting for the host.
    package enum Told: Sendable {
        case events(WatchedEvents)
        /// There was no event in the given time.
        case nothing
        /// The host has ended, or the caller wants to stop.
        case ended
    }

    /// The next events. Waits for them for the given time. `isStopping` is checked from time to time.
    ///
    /// Throws `StratusError` if the connection fails.
    package func next(waitingAtMost seconds: Double, isStopping: () -> Bool) throws -> Told {
        do {
            guard let frame = try LocalClient.receive(channel, seconds: seconds, isStopping: isStopping) else {
                return .ended
            }
            guard frame.kind == LocalFrame.Kind.events.rawValue else { throw LocalClient.unexpected(frame) }
            return .events(try ExactJSON.decode(from: frame.content))
        } catch let error as LocalSocketError {
            // A killed host sends nothing more.
            if error == .cutOff { return .ended }
            if error == .idle { return .nothing }
            throw error.told()
        }
    }
}
