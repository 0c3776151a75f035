// The user of a container: identity, account status, discoverability and long-lived operations.

import StratusCloud
import StratusModel

extension CKContainer {
    /// The status of the account. Having no account is a status, not an error (O-18).
    /// - Parameter completionHandler: Gets the status, and an error if it could not be determined.
    @preconcurrency
    public func accountStatus(completionHandler: @escaping @Sendable (CKAccountStatus, (any Error)?) -> Void) {
        scope.ask(Self.accountStatus) { result in
            switch result {
            case .success(let status): completionHandler(status, nil)
            case .failure(let error): completionHandler(.couldNotDetermine, error)
            }
        }
    }

    /// The status of the account. Having no account is a status, not an error (O-18).
    /// - Throws: `CKError` if it could not be determined.
    public func accountStatus() async throws -> CKAccountStatus {
        try await scope.ask(Self.accountStatus)
    }

    private static func accountStatus(_ server: any CloudServer, _ caller: Caller) throws -> CKAccountStatus {
        CKAccountStatus(rawValue: try server.answer(AccountStatusRequest(), as: caller).rawValue) ?? .couldNotDetermine
    }

    /// The identifier of the user's record, the same in every database of the container.
    /// - Parameter completionHandler: Gets the identifier, or `notAuthenticated` without an account (O-17).
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

    // The permission to be found by others. The host decides it, so users are not asked.

    /// The permissions that an app may request from its users.
    @available(*, deprecated, message: "User discovery is no longer asked for.")
    public struct ApplicationPermissions: OptionSet, Sendable {
        /// The bits.
        public let rawValue: UInt
        /// Creates permissions from their bits.
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// To be found by others.
        public static var userDiscoverability: ApplicationPermissions { ApplicationPermissions(rawValue: 1 << 0) }
    }

    /// A user's answer.
    @available(*, deprecated, message: "User discovery is no longer asked for.")
    public enum ApplicationPermissionStatus: Int, Sendable {
        /// The user was not asked. The store never returns this.
        case initialState = 0
        /// The store did not answer.
        case couldNotComplete = 1
        /// Others may not find the user, as the host has decided.
        case denied = 2
        /// Others may find the user by a handle, as the host has decided.
        case granted = 3
    }

    /// Gets a user's answer.
    @available(*, deprecated, message: "User discovery is no longer asked for.")
    public typealias ApplicationPermissionBlock = (CKContainer.ApplicationPermissionStatus, (any Error)?) -> Void

    /// Earlier names.
    @available(*, deprecated, message: "User discovery is no longer asked for.")
    public enum Application {
        /// Now `ApplicationPermissions`.
        public typealias Permissions = CKContainer.ApplicationPermissions
        /// Now `ApplicationPermissionStatus`.
        public typealias PermissionStatus = CKContainer.ApplicationPermissionStatus
        /// Now `ApplicationPermissionBlock`.
        public typealias PermissionBlock = CKContainer.ApplicationPermissionBlock
    }

    /// Whether the user can be found by others.
    /// - Parameters:
    ///   - applicationPermission: The requested permission.
    ///   - completionHandler: Gets `granted` or `denied`, or `couldNotComplete` and an error without an account.
    @available(*, deprecated, message: "User discovery is no longer asked for.")
    public func status(
        forApplicationPermission applicationPermission: CKContainer.ApplicationPermissions,
        completionHandler: @escaping ApplicationPermissionBlock
    ) {
        let handler = Gathered(completionHandler)
        scope.ask(Self.isDiscoverable) { result in
            switch result {
            case .success(let isDiscoverable): handler.value(isDiscoverable ? .granted : .denied, nil)
            case .failure(let error): handler.value(.couldNotComplete, error)
            }
        }
    }

    /// Whether the user can be found by others.
    /// - Parameter applicationPermission: The requested permission.
    /// - Returns: `granted`, or `denied` if the host does not let others find the user.
    /// - Throws: `CKError`, `notAuthenticated` without an account (O-17).
    @available(*, deprecated, message: "User discovery is no longer asked for.")
    public func applicationPermissionStatus(
        for applicationPermission: CKContainer.ApplicationPermissions
    ) async throws -> CKContainer.ApplicationPermissionStatus {
        try await scope.ask(Self.isDiscoverable) ? .granted : .denied
    }

    private static func isDiscoverable(_ server: any CloudServer, _ caller: Caller) throws -> Bool {
        try server.answer(DiscoverabilityRequest(), as: caller)
    }

    /// Whether the user can be found by others. The host decides it; the user is not asked.
    /// - Parameters:
    ///   - applicationPermission: The requested permission.
    ///   - completionHandler: Gets `granted` or `denied`, or `couldNotComplete` and an error without an account.
    @available(*, deprecated, message: "User discovery is no longer asked for.")
    public func requestApplicationPermission(
        _ applicationPermission: CKContainer.ApplicationPermissions,
        completionHandler: @escaping ApplicationPermissionBlock
    ) {
        status(forApplicationPermission: applicationPermission, completionHandler: completionHandler)
    }

    /// Whether the user can be found by others. The host decides it; the user is not asked.
    /// - Parameter applicationPermission: The requested permission.
    /// - Returns: `granted`, or `denied` if the host does not let others find the user.
    /// - Throws: `CKError`, `notAuthenticated` without an account (O-17).
    @available(*, deprecated, message: "User discovery is no longer asked for.")
    public func requestApplicationPermission(
        _ applicationPermission: CKContainer.ApplicationPermissions
    ) async throws -> CKContainer.ApplicationPermissionStatus {
        try await applicationPermissionStatus(for: applicationPermission)
    }

    // Finding long-lived operations again (O-14).

    /// The identifiers of the long-lived operations that have not called their last block.
    /// - Parameter completionHandler: Gets the identifiers, or an error.
    @preconcurrency
    public func fetchAllLongLivedOperationIDs(
        completionHandler: @escaping @Sendable ([CKOperation.ID]?, (any Error)?) -> Void
    ) {
        scope.ask(longLivedIDs) { $0.call(completionHandler) }
    }

    /// The identifiers of the long-lived operations that have not called their last block.
    /// - Throws: `CKError` if the directory of stored operations cannot be read (O-14).
    public func allLongLivedOperationIDs() async throws -> [CKOperation.ID] {
        try await scope.ask(longLivedIDs)
    }

    /// A long-lived operation that has not called its last block. Set its blocks again and add it to the container: it
    /// calls all of them, and does not send its request a second time.
    /// - Parameters:
    ///   - operationID: The operation's identifier.
    ///   - completionHandler: Gets the operation, nil if it no longer exists, or an error.
    @preconcurrency
    public func fetchLongLivedOperation(
        withID operationID: CKOperation.ID,
        completionHandler: @escaping @Sendable (CKOperation?, (any Error)?) -> Void
    ) {
        scope.ask(longLived(operationID)) { $0.call(completionHandler) }
    }

    /// A long-lived operation that has not called its last block. Set its blocks again and add it to the container: it
    /// calls all of them, and does not send its request a second time.
    /// - Parameter operationID: The operation's identifier.
    /// - Returns: The operation; nil if it no longer exists.
    /// - Throws: `CKError`: `internalError` if its stored data is damaged (O-14).
    public func longLivedOperation(for operationID: CKOperation.ID) async throws -> CKOperation? {
        try await scope.ask(longLived(operationID))
    }

    private var longLivedIDs: Question<[CKOperation.ID]> {
        let registry = scope.session.longLived
        return { _, caller in try registry.entries(of: caller).map(\.id).sorted() }
    }

    private func longLived(_ id: CKOperation.ID) -> Question<CKOperation?> {
        let (scope, registry) = (scope, scope.session.longLived)
        return { _, caller in
            try registry.found(id, of: caller) { try LongLivedRun.operation($0, in: scope) }
        }
    }
}

/// An earlier name.
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissions")
public typealias CKContainer_Application_Permissions = CKContainer.ApplicationPermissions

/// An earlier name.
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissionStatus")
public typealias CKContainer_Application_PermissionStatus = CKContainer.ApplicationPermissionStatus

/// An earlier name.
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissionBlock")
public typealias CKContainer_Application_PermissionBlock = CKContainer.ApplicationPermissionBlock
