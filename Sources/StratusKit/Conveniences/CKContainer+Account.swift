// Who the user is and how their account stands.

import Foundation
import StratusCloud
import StratusModel

extension CKContainer {
    /// How the account stands. No account is an answer, not an error (O-18).
    /// - Parameter completionHandler: Given the status, and an error where it could not be determined.
    @preconcurrency
    public func accountStatus(completionHandler: @escaping @Sendable (CKAccountStatus, (any Error)?) -> Void) {
        scope.ask(Self.accountStatus) { result in
            switch result {
            case .success(let status): completionHandler(status, nil)
            case .failure(let error): completionHandler(.couldNotDetermine, error)
            }
        }
    }

    /// How the account stands. No account is an answer, not an error (O-18).
    /// - Throws: `CKError` where it could not be determined.
    public func accountStatus() async throws -> CKAccountStatus {
        try await scope.ask(Self.accountStatus)
    }

    private static func accountStatus(_ server: any CloudServer, _ caller: Caller) throws -> CKAccountStatus {
        CKAccountStatus(rawValue: try server.answer(AccountStatusRequest(), as: caller).rawValue) ?? .couldNotDetermine
    }

    /// The identifier of the user's record, the same in every database of the container.
    /// - Parameter completionHandler: Given the identifier, or `notAuthenticated` without an account (O-17).
    @preconcurrency
    public func fetchUserRecordID(completionHandler: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void) {
        scope.ask(Self.userRecordID) { $0.call(completionHandler) }
    }

    /// The identifier of the user's record, the same in every database of the container.
    /// - Throws: `CKError`, `notAuthenticated` without an account (O-17).
    public func userRecordID() async throws -> CKRecord.ID {
        try await scope.ask(Self.userRecordID)
    }

    private static func userRecordID(_ server: any CloudServer, _ caller: Caller) throws -> CKRecord.ID {
        CKRecord.ID(recordName: try server.answer(UserNameRequest(), as: caller).text)
    }
}
