// Calls to fetch people to invite, and to search for people, with a completion handler and awaited.

import StratusCloud

// MARK: One person

extension CKContainer {
    /// Fetches a person to invite.
    /// - Parameters:
    ///   - emailAddress: The person's address.
    ///   - completionHandler: Gets the participant, or the error.
    @preconcurrency
    public func fetchShareParticipant(
        withEmailAddress emailAddress: String,
        completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        scope.begin(fetching(CKUserIdentity.LookupInfo(emailAddress: emailAddress)) { $0.call(completionHandler) })
    }

    /// Fetches a person to invite.
    /// - Parameters:
    ///   - phoneNumber: The person's telephone number.
    ///   - completionHandler: Gets the participant, or the error.
    @preconcurrency
    public func fetchShareParticipant(
        withPhoneNumber phoneNumber: String,
        completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        scope.begin(fetching(CKUserIdentity.LookupInfo(phoneNumber: phoneNumber)) { $0.call(completionHandler) })
    }

    /// Fetches a person to invite.
    /// - Parameters:
    ///   - userRecordID: The person's user record.
    ///   - completionHandler: Gets the participant, or the error.
    @preconcurrency
    public func fetchShareParticipant(
        withUserRecordID userRecordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        scope.begin(fetching(CKUserIdentity.LookupInfo(userRecordID: userRecordID)) { $0.call(completionHandler) })
    }

    /// Fetches a person to invite.
    /// - Parameter emailAddress: The person's address. A person without an account can be invited too (P-01).
    /// - Returns: The participant.
    /// - Throws: `CKError`, `invalidArguments` if it is not an address.
    public func shareParticipant(forEmailAddress emailAddress: String) async throws -> CKShare.Participant {
        try await scope.await { fetching(CKUserIdentity.LookupInfo(emailAddress: emailAddress), $0) }
    }

    /// Fetches a person to invite.
    /// - Parameter phoneNumber: The person's telephone number. A person without an account can be invited too (P-01).
    /// - Returns: The participant.
    /// - Throws: `CKError`, `invalidArguments` if it is not a number.
    public func shareParticipant(forPhoneNumber phoneNumber: String) async throws -> CKShare.Participant {
        try await scope.await { fetching(CKUserIdentity.LookupInfo(phoneNumber: phoneNumber), $0) }
    }

    /// Fetches a person to invite.
    /// - Parameter userRecordID: The person's user record.
    /// - Returns: The participant.
    /// - Throws: `CKError`, `unknownItem` if there is no such user.
    public func shareParticipant(forUserRecordID userRecordID: CKRecord.ID) async throws -> CKShare.Participant {
        try await scope.await { fetching(CKUserIdentity.LookupInfo(userRecordID: userRecordID), $0) }
    }

    // MARK: Many people

    /// Fetches people to invite.
    /// - Parameters:
    ///   - emails: Their addresses.
    ///   - completionHandler: Gets an answer for every address, or the error of the request.
    @preconcurrency
    public func fetchShareParticipants(
        forEmailAddresses emails: [String],
        completionHandler:
            @escaping @Sendable (Result<[String: Result<CKShare.Participant, any Error>], any Error>) -> Void
    ) {
        scope.begin(fetching(emails, CKUserIdentity.LookupInfo.init(emailAddress:), completionHandler))
    }

    /// Fetches people to invite.
    /// - Parameters:
    ///   - phoneNumbers: Their telephone numbers.
    ///   - completionHandler: Gets an answer for every number, or the error of the request.
    @preconcurrency
    public func fetchShareParticipants(
        forPhoneNumbers phoneNumbers: [String],
        completionHandler:
            @escaping @Sendable (Result<[String: Result<CKShare.Participant, any Error>], any Error>) -> Void
    ) {
        scope.begin(fetching(phoneNumbers, CKUserIdentity.LookupInfo.init(phoneNumber:), completionHandler))
    }

    /// Fetches people to invite.
    /// - Parameters:
    ///   - userRecordIDs: Their user records.
    ///   - completionHandler: Gets an answer for every user record, or the error of the request.
    @preconcurrency
    public func fetchShareParticipants(
        forUserRecordIDs userRecordIDs: [CKRecord.ID],
        completionHandler:
            @escaping @Sendable (Result<[CKRecord.ID: Result<CKShare.Participant, any Error>], any Error>) -> Void
    ) {
        scope.begin(fetching(userRecordIDs, CKUserIdentity.LookupInfo.init(userRecordID:), completionHandler))
    }

    /// Fetches people to invite.
    /// - Parameter emails: Their addresses.
    /// - Returns: An answer for every address.
    /// - Throws: `CKError` when the request as a whole failed: `notAuthenticated` without an account, `limitExceeded`
    ///   (L-01). An item fails with `invalidArguments` if it is not an address or number, with `unknownItem` if there
    ///   is no such user.
    public func shareParticipants(
        forEmailAddresses emails: [String]
    ) async throws -> [String: Result<CKShare.Participant, any Error>] {
        try await scope.await { fetching(emails, CKUserIdentity.LookupInfo.init(emailAddress:), $0) }
    }

    /// Fetches people to invite.
    /// - Parameter phoneNumbers: Their telephone numbers.
    /// - Returns: An answer for every number.
    /// - Throws: `CKError` when the request as a whole failed: `notAuthenticated` without an account, `limitExceeded`
    ///   (L-01). An item fails with `invalidArguments` if it is not an address or number, with `unknownItem` if there
    ///   is no such user.
    public func shareParticipants(
        forPhoneNumbers phoneNumbers: [String]
    ) async throws -> [String: Result<CKShare.Participant, any Error>] {
        try await scope.await { fetching(phoneNumbers, CKUserIdentity.LookupInfo.init(phoneNumber:), $0) }
    }

    /// Fetches people to invite.
    /// - Parameter userRecordIDs: Their user records.
    /// - Returns: An answer for every user record.
    /// - Throws: `CKError` when the request as a whole failed: `notAuthenticated` without an account, `limitExceeded`
    ///   (L-01). An item fails with `invalidArguments` if it is not an address or number, with `unknownItem` if there
    ///   is no such user.
    public func shareParticipants(
        forUserRecordIDs userRecordIDs: [CKRecord.ID]
    ) async throws -> [CKRecord.ID: Result<CKShare.Participant, any Error>] {
        try await scope.await { fetching(userRecordIDs, CKUserIdentity.LookupInfo.init(userRecordID:), $0) }
    }

    /// Fetches people to invite.
    /// - Parameter lookupInfos: The addresses, numbers or user records to look up.
    /// - Returns: An answer for every person.
    /// - Throws: `CKError` when the request as a whole failed: `notAuthenticated` without an account, `limitExceeded`
    ///   (L-01). An item fails with `invalidArguments` if it is not an address or number, with `unknownItem` if there
    ///   is no such user.
    public func shareParticipants(
        for lookupInfos: [CKUserIdentity.LookupInfo]
    ) async throws -> [CKUserIdentity.LookupInfo: Result<CKShare.Participant, any Error>] {
        try await scope.await { fetching(lookupInfos, { $0 }, $0) }
    }

    // MARK: The operations behind them

    private func fetching(
        _ lookupInfo: CKUserIdentity.LookupInfo, _ completion: @escaping Completion<CKShare.Participant>
    ) -> CKOperation {
        fetching([lookupInfo], { $0 }) { completion($0.item(lookupInfo)) }
    }

    private func fetching<Key: Hashable & Sendable>(
        _ keys: [Key], _ makeInfo: (Key) -> CKUserIdentity.LookupInfo,
        _ completion: @escaping Completion<AnswersByID<Key, CKShare.Participant>>
    ) -> CKOperation {
        let keys = keys.withoutRepetitions()
        let infos = keys.map(makeInfo)
        let operation = CKFetchShareParticipantsOperation(userIdentityLookupInfos: infos)
        (operation.perShareParticipantResultBlock, operation.fetchShareParticipantsResultBlock) = gathering { result in
            completion(
                result.map { answers in
                    let pairs = zip(keys, infos).compactMap { key, info in answers[info].map { (key, $0) } }
                    return Dictionary(pairs, uniquingKeysWith: { first, _ in first })
                })
        }
        return operation
    }

    // Search for other people. It finds only people who can be discovered, as the host has set for their account.

    // MARK: The address book

    /// Finds no one: there is no address book here.
    /// - Parameter completionHandler: Gets no people, or `notAuthenticated` without an account.
    @available(*, deprecated, message: "There is no address book to search.")
    @preconcurrency
    public func discoverAllIdentities(
        completionHandler: @escaping @Sendable ([CKUserIdentity]?, (any Error)?) -> Void
    ) {
        scope.ask(Self.nobody) { $0.call(completionHandler) }
    }

    /// Finds no one: there is no address book here.
    /// - Throws: `CKError`, `notAuthenticated` without an account.
    @available(*, deprecated, message: "There is no address book to search.")
    public func allUserIdentitiesFromContacts() async throws -> [CKUserIdentity] {
        try await scope.ask(Self.nobody)
    }

    private static func nobody(_ server: any CloudServer, _ caller: Caller) throws -> [CKUserIdentity] {
        _ = try server.answer(UserNameRequest(), as: caller)
        return []
    }

    // MARK: One person

    /// Searches for a person by e-mail address.
    /// - Parameters:
    ///   - emailAddress: The person's e-mail address.
    ///   - completionHandler: Gets the person, nil if no one is found, or an error.
    @available(*, deprecated, message: "Use shareParticipants(for:).")
    @preconcurrency
    public func discoverUserIdentity(
        withEmailAddress emailAddress: String,
        completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        scope.ask(Self.look(for: .init(emailAddress: emailAddress))) { $0.call(completionHandler) }
    }

    /// Searches for a person by e-mail address.
    /// - Parameter emailAddress: The person's e-mail address.
    /// - Returns: The person; nil if no one is found.
    /// - Throws: `CKError`: `notAuthenticated` without an account (O-17), `limitExceeded` for too many at once (L-01).
    @available(*, deprecated, message: "Use shareParticipants(for:).")
    public func userIdentity(forEmailAddress emailAddress: String) async throws -> CKUserIdentity? {
        try await scope.ask(Self.look(for: .init(emailAddress: emailAddress)))
    }

    /// Searches for a person by telephone number.
    /// - Parameters:
    ///   - phoneNumber: The person's telephone number.
    ///   - completionHandler: Gets the person, nil if no one is found, or an error.
    @available(*, deprecated, message: "Use shareParticipants(for:).")
    @preconcurrency
    public func discoverUserIdentity(
        withPhoneNumber phoneNumber: String,
        completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        scope.ask(Self.look(for: .init(phoneNumber: phoneNumber))) { $0.call(completionHandler) }
    }

    /// Searches for a person by telephone number.
    /// - Parameter phoneNumber: The person's telephone number.
    /// - Returns: The person; nil if no one is found.
    /// - Throws: `CKError`: `notAuthenticated` without an account (O-17), `limitExceeded` for too many at once (L-01).
    @available(*, deprecated, message: "Use shareParticipants(for:).")
    public func userIdentity(forPhoneNumber phoneNumber: String) async throws -> CKUserIdentity? {
        try await scope.ask(Self.look(for: .init(phoneNumber: phoneNumber)))
    }

    /// Searches for a person by user record.
    /// - Parameters:
    ///   - userRecordID: The person's user record.
    ///   - completionHandler: Gets the person, nil if no one is found, or an error.
    @available(*, deprecated, message: "Use shareParticipants(for:).")
    @preconcurrency
    public func discoverUserIdentity(
        withUserRecordID userRecordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        scope.ask(Self.look(for: .init(userRecordID: userRecordID))) { $0.call(completionHandler) }
    }

    /// Searches for a person by user record.
    /// - Parameter userRecordID: The person's user record.
    /// - Returns: The person; nil if no one is found.
    /// - Throws: `CKError`: `notAuthenticated` without an account (O-17), `limitExceeded` for too many at once (L-01).
    @available(*, deprecated, message: "Use shareParticipants(for:).")
    public func userIdentity(forUserRecordID userRecordID: CKRecord.ID) async throws -> CKUserIdentity? {
        try await scope.ask(Self.look(for: .init(userRecordID: userRecordID)))
    }

    // MARK: Several people

    /// Searches for people by e-mail address.
    /// - Parameters:
    ///   - emailAddresses: The people's e-mail addresses.
    ///   - completionHandler: Gets the people found, or an error.
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

    /// Searches for people by e-mail address.
    /// - Parameter emailAddresses: The people's e-mail addresses.
    /// - Returns: The people found.
    /// - Throws: `CKError`: `notAuthenticated` without an account (O-17), `limitExceeded` for too many at once (L-01).
    @available(*, deprecated, message: "Use shareParticipants(for:).")
    public func userIdentities(forEmailAddresses emailAddresses: [String]) async throws -> [String: CKUserIdentity] {
        try await scope.ask(Self.look(for: emailAddresses, by: CKUserIdentity.LookupInfo.init(emailAddress:)))
    }

    /// Searches for people by telephone number.
    /// - Parameters:
    ///   - phoneNumbers: The people's telephone numbers.
    ///   - completionHandler: Gets the people found, or an error.
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

    /// Searches for people by telephone number.
    /// - Parameter phoneNumbers: The people's telephone numbers.
    /// - Returns: The people found.
    /// - Throws: `CKError`: `notAuthenticated` without an account (O-17), `limitExceeded` for too many at once (L-01).
    @available(*, deprecated, message: "Use shareParticipants(for:).")
    public func userIdentities(forPhoneNumbers phoneNumbers: [String]) async throws -> [String: CKUserIdentity] {
        try await scope.ask(Self.look(for: phoneNumbers, by: CKUserIdentity.LookupInfo.init(phoneNumber:)))
    }

    /// Searches for people by user record.
    /// - Parameters:
    ///   - userRecordIDs: The people's user records.
    ///   - completionHandler: Gets the people found, or an error.
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

    /// Searches for people by user record.
    /// - Parameter userRecordIDs: The people's user records.
    /// - Returns: The people found.
    /// - Throws: `CKError`: `notAuthenticated` without an account (O-17), `limitExceeded` for too many at once (L-01).
    @available(*, deprecated, message: "Use shareParticipants(for:).")
    public func userIdentities(forUserRecordIDs userRecordIDs: [CKRecord.ID]) async throws -> [CKRecord.ID:
        CKUserIdentity]
    {
        try await scope.ask(Self.look(for: userRecordIDs, by: CKUserIdentity.LookupInfo.init(userRecordID:)))
    }

    private static func look<Key: Hashable & Sendable>(
        for keys: [Key], by makeInfo: @escaping @Sendable (Key) -> CKUserIdentity.LookupInfo
    ) -> Question<[Key: CKUserIdentity]> {
        { server, caller in
            let keys = keys.withoutRepetitions()
            guard !keys.isEmpty else { return [:] }
            let infos = keys.map(makeInfo)
            let found = try server.answer(DiscoverUsersRequest(infos.map(\.lookup)), as: caller)
            var people: [Key: CKUserIdentity] = [:]
            for (index, person) in found.enumerated() {
                people[keys[index]] = person.map { CKUserIdentity($0, lookupInfo: infos[index]) }
            }
            return people
        }
    }

    private static func look(for info: CKUserIdentity.LookupInfo) -> Question<CKUserIdentity?> {
        let search = look(for: [info]) { $0 }
        return { server, caller in try search(server, caller)[info] }
    }
}
