// People who are to be invited, without making an operation: one and many, with a completion handler and awaited.

import Foundation
import StratusCloud

// MARK: One person

extension CKContainer {
    /// Fetches a person who is to be invited.
    /// - Parameters:
    ///   - emailAddress: The person's address.
    ///   - completionHandler: Given the participant, or the error.
    @preconcurrency
    public func fetchShareParticipant(
        withEmailAddress emailAddress: String,
        completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        scope.begin(fetching(CKUserIdentity.LookupInfo(emailAddress: emailAddress)) { $0.call(completionHandler) })
    }

    /// Fetches a person who is to be invited.
    /// - Parameters:
    ///   - phoneNumber: The person's telephone number.
    ///   - completionHandler: Given the participant, or the error.
    @preconcurrency
    public func fetchShareParticipant(
        withPhoneNumber phoneNumber: String,
        completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        scope.begin(fetching(CKUserIdentity.LookupInfo(phoneNumber: phoneNumber)) { $0.call(completionHandler) })
    }

    /// Fetches a person who is to be invited.
    /// - Parameters:
    ///   - userRecordID: The person's user record.
    ///   - completionHandler: Given the participant, or the error.
    @preconcurrency
    public func fetchShareParticipant(
        withUserRecordID userRecordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        scope.begin(fetching(CKUserIdentity.LookupInfo(userRecordID: userRecordID)) { $0.call(completionHandler) })
    }

    /// Fetches a person who is to be invited.
    /// - Parameter emailAddress: The person's address. Whoever has no account can be invited too (P-01).
    /// - Returns: The participant.
    /// - Throws: `CKError`, `invalidArguments` for what is no address.
    public func shareParticipant(forEmailAddress emailAddress: String) async throws -> CKShare.Participant {
        try await scope.await { fetching(CKUserIdentity.LookupInfo(emailAddress: emailAddress), $0) }
    }

    /// Fetches a person who is to be invited.
    /// - Parameter phoneNumber: The person's telephone number. Whoever has no account can be invited too (P-01).
    /// - Returns: The participant.
    /// - Throws: `CKError`, `invalidArguments` for what is no number.
    public func shareParticipant(forPhoneNumber phoneNumber: String) async throws -> CKShare.Participant {
        try await scope.await { fetching(CKUserIdentity.LookupInfo(phoneNumber: phoneNumber), $0) }
    }

    /// Fetches a person who is to be invited.
    /// - Parameter userRecordID: The person's user record.
    /// - Returns: The participant.
    /// - Throws: `CKError`, `unknownItem` where nobody has that record.
    public func shareParticipant(forUserRecordID userRecordID: CKRecord.ID) async throws -> CKShare.Participant {
        try await scope.await { fetching(CKUserIdentity.LookupInfo(userRecordID: userRecordID), $0) }
    }
}

// MARK: Many people

extension CKContainer {
    /// Fetches people who are to be invited.
    /// - Parameters:
    ///   - emails: Their addresses.
    ///   - completionHandler: Given an answer for every address, or the error of the request.
    @preconcurrency
    public func fetchShareParticipants(
        forEmailAddresses emails: [String],
        completionHandler:
            @escaping @Sendable (Result<[String: Result<CKShare.Participant, any Error>], any Error>) -> Void
    ) {
        scope.begin(fetching(emails, CKUserIdentity.LookupInfo.init(emailAddress:), completionHandler))
    }

    /// Fetches people who are to be invited.
    /// - Parameters:
    ///   - phoneNumbers: Their telephone numbers.
    ///   - completionHandler: Given an answer for every number, or the error of the request.
    @preconcurrency
    public func fetchShareParticipants(
        forPhoneNumbers phoneNumbers: [String],
        completionHandler:
            @escaping @Sendable (Result<[String: Result<CKShare.Participant, any Error>], any Error>) -> Void
    ) {
        scope.begin(fetching(phoneNumbers, CKUserIdentity.LookupInfo.init(phoneNumber:), completionHandler))
    }

    /// Fetches people who are to be invited.
    /// - Parameters:
    ///   - userRecordIDs: Their user records.
    ///   - completionHandler: Given an answer for every user record, or the error of the request.
    @preconcurrency
    public func fetchShareParticipants(
        forUserRecordIDs userRecordIDs: [CKRecord.ID],
        completionHandler:
            @escaping @Sendable (Result<[CKRecord.ID: Result<CKShare.Participant, any Error>], any Error>) -> Void
    ) {
        scope.begin(fetching(userRecordIDs, CKUserIdentity.LookupInfo.init(userRecordID:), completionHandler))
    }

    /// Fetches people who are to be invited.
    /// - Parameter emails: Their addresses.
    /// - Returns: An answer for every address.
    /// - Throws: `CKError` when the request as a whole failed: `notAuthenticated` without an account, `limitExceeded`
    ///   (L-01). An item fails with `invalidArguments` for what is no address or number, with `unknownItem` for a user
    ///   record that nobody has.
    public func shareParticipants(
        forEmailAddresses emails: [String]
    ) async throws -> [String: Result<CKShare.Participant, any Error>] {
        try await scope.await { fetching(emails, CKUserIdentity.LookupInfo.init(emailAddress:), $0) }
    }

    /// Fetches people who are to be invited.
    /// - Parameter phoneNumbers: Their telephone numbers.
    /// - Returns: An answer for every number.
    /// - Throws: `CKError` when the request as a whole failed: `notAuthenticated` without an account, `limitExceeded`
    ///   (L-01). An item fails with `invalidArguments` for what is no address or number, with `unknownItem` for a user
    ///   record that nobody has.
    public func shareParticipants(
        forPhoneNumbers phoneNumbers: [String]
    ) async throws -> [String: Result<CKShare.Participant, any Error>] {
        try await scope.await { fetching(phoneNumbers, CKUserIdentity.LookupInfo.init(phoneNumber:), $0) }
    }

    /// Fetches people who are to be invited.
    /// - Parameter userRecordIDs: Their user records.
    /// - Returns: An answer for every user record.
    /// - Throws: `CKError` when the request as a whole failed: `notAuthenticated` without an account, `limitExceeded`
    ///   (L-01). An item fails with `invalidArguments` for what is no address or number, with `unknownItem` for a user
    ///   record that nobody has.
    public func shareParticipants(
        forUserRecordIDs userRecordIDs: [CKRecord.ID]
    ) async throws -> [CKRecord.ID: Result<CKShare.Participant, any Error>] {
        try await scope.await { fetching(userRecordIDs, CKUserIdentity.LookupInfo.init(userRecordID:), $0) }
    }

    /// Fetches people who are to be invited.
    /// - Parameter lookupInfos: By what they are looked up.
    /// - Returns: An answer for everybody.
    /// - Throws: `CKError` when the request as a whole failed: `notAuthenticated` without an account, `limitExceeded`
    ///   (L-01). An item fails with `invalidArguments` for what is no address or number, with `unknownItem` for a user
    ///   record that nobody has.
    public func shareParticipants(
        for lookupInfos: [CKUserIdentity.LookupInfo]
    ) async throws -> [CKUserIdentity.LookupInfo: Result<CKShare.Participant, any Error>] {
        try await scope.await { fetching(lookupInfos, { $0 }, $0) }
    }
}

// MARK: The operations behind them

extension CKContainer {
    private func fetching(
        _ lookupInfo: CKUserIdentity.LookupInfo,
        _ completion: @escaping @Sendable (Result<CKShare.Participant, any Error>) -> Void
    ) -> CKOperation {
        fetching([lookupInfo], { $0 }) { completion($0.item(lookupInfo)) }
    }

    private func fetching<Key: Hashable & Sendable>(
        _ keys: [Key], _ makeInfo: (Key) -> CKUserIdentity.LookupInfo,
        _ completion: @escaping @Sendable (Result<[Key: Result<CKShare.Participant, any Error>], any Error>) -> Void
    ) -> CKOperation {
        let keys = keys.withoutRepetitions()
        let infos = keys.map(makeInfo)
        let operation = CKFetchShareParticipantsOperation(userIdentityLookupInfos: infos)
        let answers = Gathered<[CKUserIdentity.LookupInfo: Result<CKShare.Participant, any Error>]>([:])
        operation.perShareParticipantResultBlock = { answers.value[$0] = $1 }
        operation.fetchShareParticipantsResultBlock = { result in
            completion(
                result.map {
                    let pairs = zip(keys, infos).compactMap { key, info in answers.value[info].map { (key, $0) } }
                    return Dictionary(pairs, uniquingKeysWith: { first, _ in first })
                })
        }
        return operation
    }
}

// Looking for other people. Only those are found who want to be (the host's setting of their account).

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
        _ = try server.userName(of: caller)
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
            for (index, found) in try server.discover(infos.map(\.lookup), as: caller).enumerated() {
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
