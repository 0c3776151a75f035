// Looking for other people. Only those are found who want to be (the host's setting of their account).

import Foundation
import StratusCloud

// MARK: The address book

extension CKContainer {
    /// Finds nobody: there is no address book here.
    /// - Parameter completionHandler: Given no people, or `notAuthenticated` without an account.
    @available(*, deprecated, message: "There is no address book to look in.")
    @preconcurrency
    public func discoverAllIdentities(
        completionHandler: @escaping @Sendable ([CKUserIdentity]?, (any Error)?) -> Void
    ) {
        scope.ask(Self.nobody) { $0.call(completionHandler) }
    }

    /// Finds nobody: there is no address book here.
    /// - Throws: `CKError`, `notAuthenticated` without an account.
    @available(*, deprecated, message: "There is no address book to look in.")
    public func allUserIdentitiesFromContacts() async throws -> [CKUserIdentity] {
        try await scope.ask(Self.nobody)
    }

    private static func nobody(_ server: any CloudServer, _ caller: Caller) throws -> [CKUserIdentity] {
        _ = try server.answer(UserNameRequest(), as: caller)
        return []
    }
}

// MARK: One person

extension CKContainer {
    /// Looks for a person by e-mail address.
    /// - Parameters:
    ///   - emailAddress: What is known of the person.
    ///   - completionHandler: Given the person, nil where nobody is found, or an error.
    @available(*, deprecated, message: "Use shareParticipants(for:).")
    @preconcurrency
    public func discoverUserIdentity(
        withEmailAddress emailAddress: String,
        completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        scope.ask(Self.look(for: emailAddress, by: CKUserIdentity.LookupInfo.init(emailAddress:))) { result in
            result.call { completionHandler($0?.values.first, $1) }
        }
    }

    /// Looks for a person by e-mail address.
    /// - Parameter emailAddress: What is known of the person.
    /// - Returns: The person, nil where nobody is found.
    /// - Throws: `CKError`: `notAuthenticated` without an account (O-17), `limitExceeded` for too many at once (L-01).
    @available(*, deprecated, message: "Use shareParticipants(for:).")
    public func userIdentity(forEmailAddress emailAddress: String) async throws -> CKUserIdentity? {
        try await scope.ask(Self.look(for: emailAddress, by: CKUserIdentity.LookupInfo.init(emailAddress:))).values
            .first
    }

    /// Looks for a person by telephone number.
    /// - Parameters:
    ///   - phoneNumber: What is known of the person.
    ///   - completionHandler: Given the person, nil where nobody is found, or an error.
    @available(*, deprecated, message: "Use shareParticipants(for:).")
    @preconcurrency
    public func discoverUserIdentity(
        withPhoneNumber phoneNumber: String,
        completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        scope.ask(Self.look(for: phoneNumber, by: CKUserIdentity.LookupInfo.init(phoneNumber:))) { result in
            result.call { completionHandler($0?.values.first, $1) }
        }
    }

    /// Looks for a person by telephone number.
    /// - Parameter phoneNumber: What is known of the person.
    /// - Returns: The person, nil where nobody is found.
    /// - Throws: `CKError`: `notAuthenticated` without an account (O-17), `limitExceeded` for too many at once (L-01).
    @available(*, deprecated, message: "Use shareParticipants(for:).")
    public func userIdentity(forPhoneNumber phoneNumber: String) async throws -> CKUserIdentity? {
        try await scope.ask(Self.look(for: phoneNumber, by: CKUserIdentity.LookupInfo.init(phoneNumber:))).values.first
    }

    /// Looks for a person by user record.
    /// - Parameters:
    ///   - userRecordID: What is known of the person.
    ///   - completionHandler: Given the person, nil where nobody is found, or an error.
    @available(*, deprecated, message: "Use shareParticipants(for:).")
    @preconcurrency
    public func discoverUserIdentity(
        withUserRecordID userRecordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        scope.ask(Self.look(for: userRecordID, by: CKUserIdentity.LookupInfo.init(userRecordID:))) { result in
            result.call { completionHandler($0?.values.first, $1) }
        }
    }

    /// Looks for a person by user record.
    /// - Parameter userRecordID: What is known of the person.
    /// - Returns: The person, nil where nobody is found.
    /// - Throws: `CKError`: `notAuthenticated` without an account (O-17), `limitExceeded` for too many at once (L-01).
    @available(*, deprecated, message: "Use shareParticipants(for:).")
    public func userIdentity(forUserRecordID userRecordID: CKRecord.ID) async throws -> CKUserIdentity? {
        try await scope.ask(Self.look(for: userRecordID, by: CKUserIdentity.LookupInfo.init(userRecordID:))).values
            .first
    }
}

// MARK: Several people

extension CKContainer {
    /// Looks for people by e-mail address.
    /// - Parameters:
    ///   - emailAddresses: What is known of the people.
    ///   - completionHandler: Given those who were found, or an error.
    @available(*, deprecated, message: "Use shareParticipants(for:).")
    @preconcurrency
    public func discoverUserIdentities(
        forEmailAddresses emailAddresses: [String],
        completionHandler: @escaping @Sendable (Result<[String: CKUserIdentity], any Error>) -> Void
    ) {
        scope.ask(
            Self.look(for: emailAddresses, by: CKUserIdentity.LookupInfo.init(emailAddress:)),
            completion: completionHandler)
    }

    /// Looks for people by e-mail address.
    /// - Parameter emailAddresses: What is known of the people.
    /// - Returns: Those who were found.
    /// - Throws: `CKError`: `notAuthenticated` without an account (O-17), `limitExceeded` for too many at once (L-01).
    @available(*, deprecated, message: "Use shareParticipants(for:).")
    public func userIdentities(forEmailAddresses emailAddresses: [String]) async throws -> [String: CKUserIdentity] {
        try await scope.ask(Self.look(for: emailAddresses, by: CKUserIdentity.LookupInfo.init(emailAddress:)))
    }

    /// Looks for people by telephone number.
    /// - Parameters:
    ///   - phoneNumbers: What is known of the people.
    ///   - completionHandler: Given those who were found, or an error.
    @available(*, deprecated, message: "Use shareParticipants(for:).")
    @preconcurrency
    public func discoverUserIdentities(
        forPhoneNumbers phoneNumbers: [String],
        completionHandler: @escaping @Sendable (Result<[String: CKUserIdentity], any Error>) -> Void
    ) {
        scope.ask(
            Self.look(for: phoneNumbers, by: CKUserIdentity.LookupInfo.init(phoneNumber:)),
            completion: completionHandler)
    }

    /// Looks for people by telephone number.
    /// - Parameter phoneNumbers: What is known of the people.
    /// - Returns: Those who were found.
    /// - Throws: `CKError`: `notAuthenticated` without an account (O-17), `limitExceeded` for too many at once (L-01).
    @available(*, deprecated, message: "Use shareParticipants(for:).")
    public func userIdentities(forPhoneNumbers phoneNumbers: [String]) async throws -> [String: CKUserIdentity] {
        try await scope.ask(Self.look(for: phoneNumbers, by: CKUserIdentity.LookupInfo.init(phoneNumber:)))
    }

    /// Looks for people by user record.
    /// - Parameters:
    ///   - userRecordIDs: What is known of the people.
    ///   - completionHandler: Given those who were found, or an error.
    @available(*, deprecated, message: "Use shareParticipants(for:).")
    @preconcurrency
    public func discoverUserIdentities(
        forUserRecordIDs userRecordIDs: [CKRecord.ID],
        completionHandler: @escaping @Sendable (Result<[CKRecord.ID: CKUserIdentity], any Error>) -> Void
    ) {
        scope.ask(
            Self.look(for: userRecordIDs, by: CKUserIdentity.LookupInfo.init(userRecordID:)),
            completion: completionHandler)
    }

    /// Looks for people by user record.
    /// - Parameter userRecordIDs: What is known of the people.
    /// - Returns: Those who were found.
    /// - Throws: `CKError`: `notAuthenticated` without an account (O-17), `limitExceeded` for too many at once (L-01).
    @available(*, deprecated, message: "Use shareParticipants(for:).")
    public func userIdentities(forUserRecordIDs userRecordIDs: [CKRecord.ID]) async throws -> [CKRecord.ID:
        CKUserIdentity]
    {
        try await scope.ask(Self.look(for: userRecordIDs, by: CKUserIdentity.LookupInfo.init(userRecordID:)))
    }

    private typealias Search<Key: Hashable> = @Sendable (any CloudServer, Caller) throws -> [Key: CKUserIdentity]

    private static func look<Key: Hashable & Sendable>(
        for keys: [Key], by makeInfo: @escaping @Sendable (Key) -> CKUserIdentity.LookupInfo
    ) -> Search<Key> {
        { server, caller in
            let keys = keys.withoutRepetitions()
            guard !keys.isEmpty else { return [:] }
            let infos = keys.map(makeInfo)
            var people: [Key: CKUserIdentity] = [:]
            for (index, found) in try server.answer(DiscoverUsersRequest(infos.map(\.lookup)), as: caller).enumerated() {
                people[keys[index]] = found.map { CKUserIdentity($0, lookupInfo: infos[index]) }
            }
            return people
        }
    }

    private static func look<Key: Hashable & Sendable>(
        for key: Key, by makeInfo: @escaping @Sendable (Key) -> CKUserIdentity.LookupInfo
    ) -> Search<Key> {
        look(for: [key], by: makeInfo)
    }
}
