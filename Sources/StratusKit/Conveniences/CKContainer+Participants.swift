// People who are to be invited, without making an operation: one and many, with a completion handler and awaited.

import Foundation

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
