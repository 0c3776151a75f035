// Identifies the caller. A person proves that they read the mail of an address by a code that was sent there, and gets
// a token, which every later request carries. So the address is verified before the store accepts it as the person's.
//
// Codes and tokens are records of the service's own account, by their hashes: they are as durable as everything else,
// and a reader of the store's files cannot sign in with their contents.

import Foundation
import StratusKit

/// A signed-in person, on one of their devices.
struct Person: Sendable {
    let account: Stratus.Account
    /// Requests act on it, so that it is not notified of its own changes.
    let device: Stratus.Device
    /// The record of the request's token.
    let tokenID: CKRecord.ID
}

/// Codes and tokens.
struct Sessions: Sendable {
    /// The reasons why a person is not signed in. All have the same response.
    enum Refusal: Error {
        case wrongCode
        case unknownToken
    }

    /// Too many codes were requested.
    struct TooManyCodes: Error {
        let retryAfterSeconds: Double
    }

    static let containerIdentifier = "iCloud.com.example.shared-lists.sessions"

    private static let codeSeconds = 600.0
    private static let codeCount = 5
    private static let guessCount = 5
    private static let tokenSeconds = 30.0 * 24 * 3600

    private let cloud: Stratus
    private let database: CKDatabase
    private let outbox: Outbox

    /// The sessions of a store, kept in the private database of `account`.
    init(cloud: Stratus, account: Stratus.Account, outbox: Outbox) {
        self.cloud = cloud
        database = cloud.container(Self.containerIdentifier, signedInAs: account).privateCloudDatabase
        self.outbox = outbox
    }

    // MARK: Codes

    /// Sends a code to an address. The response does not reveal whether the address has an account.
    func sendCode(to email: String, now: Date = Date()) async throws {
        let email = email.lowercased()
        let code = Secret.makeCode()
        let record = try await codeRecord(of: email) ?? CKRecord(recordType: "Code", recordID: codeID(of: email))
        let expires = record["expires"] as? Date ?? .distantPast
        let isOver = expires <= now
        let left = isOver ? Self.codeCount : record["codesLeft"] as? Int ?? 0
        guard left > 0 else { throw TooManyCodes(retryAfterSeconds: expires.timeIntervalSince(now)) }
        record["codesLeft"] = left - 1
        record["guessesLeft"] = Self.guessCount
        record["hash"] = Secret.hash(email + code)
        record["expires"] = isOver ? now.addingTimeInterval(Self.codeSeconds) : expires
        try await database.save(record)
        try await outbox.send(Mail(to: email, subject: "Your code for shared lists", code: code))
    }

    /// Signs in a person with the code that was sent to their address, and creates the account if there is none.
    /// - Returns: The token.
    func signIn(email: String, code: String, device: String, now: Date = Date()) async throws -> String {
        let email = email.lowercased()
        guard let record = try await codeRecord(of: email), let expires = record["expires"] as? Date,
            let left = record["guessesLeft"] as? Int, left > 0, expires > now
        else { throw Refusal.wrongCode }
        // The guess is counted before it is judged, and of two concurrent saves the second fails, so concurrent guesses
        // are counted too.
        record["guessesLeft"] = left - 1
        try await database.save(record)
        guard record["hash"] as? String == Secret.hash(email + code) else { throw Refusal.wrongCode }

        let account = try await cloud.findOrMakeAccount(email: email)
        let signedIn = try await cloud.device(device, signedInAs: account)
        try await UserLists.prepare(for: signedIn)
        try await database.deleteRecord(withID: record.recordID)
        let token = Secret.makeToken()
        let session = CKRecord(recordType: "Token", recordID: tokenID(of: token))
        session["account"] = account.id
        session["device"] = device
        session["expires"] = now.addingTimeInterval(Self.tokenSeconds)
        try await database.save(session)
        return token
    }

    // MARK: Tokens

    /// The owner of a token.
    func person(withToken token: String, now: Date = Date()) async throws -> Person {
        let id = tokenID(of: token)
        guard let session = try await database.recordIfAny(id), let accountID = session["account"] as? String,
            let device = session["device"] as? String, let expires = session["expires"] as? Date
        else { throw Refusal.unknownToken }
        guard expires > now else {
            try await database.deleteRecord(withID: id)
            throw Refusal.unknownToken
        }
        guard let account = try await cloud.account(id: accountID), account.standing == .good else {
            throw Refusal.unknownToken
        }
        return Person(account: account, device: try await cloud.device(device, signedInAs: account), tokenID: id)
    }

    /// Ends a session: its token becomes invalid, and its device gets no more events.
    func signOut(_ person: Person) async throws {
        try await database.deleteRecord(withID: person.tokenID)
        try await person.device.remove()
    }

    // MARK: Records

    private func codeID(of email: String) -> CKRecord.ID { CKRecord.ID(recordName: "code-\(Secret.hash(email))") }

    private func tokenID(of token: String) -> CKRecord.ID { CKRecord.ID(recordName: "token-\(Secret.hash(token))") }

    private func codeRecord(of email: String) async throws -> CKRecord? {
        try await database.recordIfAny(codeID(of: email))
    }
}

extension Stratus {
    /// The account with a verified address. Two that sign in for the first time at once get the same.
    fileprivate func findOrMakeAccount(email: String) async throws -> Account {
        if let account = try await account(email: email) { return account }
        do {
            return try await createAccount(NewAccount(emails: [email]))
        } catch let error as StratusError where error.code == .alreadyTaken {
            guard let account = try await account(email: email) else { throw error }
            return account
        }
    }
}

extension CKDatabase {
    /// The record of that name; nil if there is none.
    func recordIfAny(_ id: CKRecord.ID) async throws -> CKRecord? {
        do {
            return try await record(for: id)
        } catch CKError.unknownItem {
            return nil
        }
    }
}
