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
        CKAccountStatus(rawValue: try server.accountStatus(of: caller).rawValue) ?? .couldNotDetermine
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
        CKRecord.ID(recordName: try server.userName(of: caller).text)
    }
}

// The permission to be found by others. Here the host decides who can be found, so users are not asked: what they are told
// is what the host has decided.

extension CKContainer {
    /// What an app may ask its users for.
    @available(*, deprecated, message: "User discovery is no longer asked for.")
    public struct ApplicationPermissions: OptionSet, Sendable {
        /// The bits.
        public let rawValue: UInt
        /// The permissions of these bits.
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// To be found by others.
        public static var userDiscoverability: ApplicationPermissions { ApplicationPermissions(rawValue: 1 << 0) }
    }

    /// What a user has answered.
    @available(*, deprecated, message: "User discovery is no longer asked for.")
    public enum ApplicationPermissionStatus: Int, Sendable {
        /// Nobody was asked. The store never answers this: it asks nobody.
        case initialState = 0
        /// The store could not be asked.
        case couldNotComplete = 1
        /// Others may not find the user; the host has decided it.
        case denied = 2
        /// Others may find the user by a handle; the host has decided it.
        case granted = 3
    }

    /// Given what a user has answered.
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
    ///   - applicationPermission: What is asked for.
    ///   - completionHandler: Given `granted` or `denied`, or `couldNotComplete` and an error without an account.
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
    /// - Parameter applicationPermission: What is asked for.
    /// - Returns: `granted`, or `denied` where the host lets nobody find the user.
    /// - Throws: `CKError`, `notAuthenticated` without an account (O-17).
    @available(*, deprecated, message: "User discovery is no longer asked for.")
    public func applicationPermissionStatus(
        for applicationPermission: CKContainer.ApplicationPermissions
    ) async throws -> CKContainer.ApplicationPermissionStatus {
        try await scope.ask(Self.isDiscoverable) ? .granted : .denied
    }

    private static func isDiscoverable(_ server: any CloudServer, _ caller: Caller) throws -> Bool {
        try server.isDiscoverable(caller)
    }

    /// Whether the user can be found by others. The user is not asked: that is the host's to decide.
    /// - Parameters:
    ///   - applicationPermission: What is asked for.
    ///   - completionHandler: Given `granted` or `denied`, or `couldNotComplete` and an error without an account.
    @available(*, deprecated, message: "User discovery is no longer asked for.")
    public func requestApplicationPermission(
        _ applicationPermission: CKContainer.ApplicationPermissions,
        completionHandler: @escaping ApplicationPermissionBlock
    ) {
        status(forApplicationPermission: applicationPermission, completionHandler: completionHandler)
    }

    /// Whether the user can be found by others. The user is not asked: that is the host's to decide.
    /// - Parameter applicationPermission: What is asked for.
    /// - Returns: `granted`, or `denied` where the host lets nobody find the user.
    /// - Throws: `CKError`, `notAuthenticated` without an account (O-17).
    @available(*, deprecated, message: "User discovery is no longer asked for.")
    public func requestApplicationPermission(
        _ applicationPermission: CKContainer.ApplicationPermissions
    ) async throws -> CKContainer.ApplicationPermissionStatus {
        try await applicationPermissionStatus(for: applicationPermission)
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

// Finding long-lived operations again (O-14).

extension CKContainer {
    /// The identifiers of the long-lived operations that have not called their last block.
    /// - Parameter completionHandler: Given the identifiers, or an error.
    @preconcurrency
    public func fetchAllLongLivedOperationIDs(
        completionHandler: @escaping @Sendable ([CKOperation.ID]?, (any Error)?) -> Void
    ) {
        scope.ask(longLivedIDs) { $0.call(completionHandler) }
    }

    /// The identifiers of the long-lived operations that have not called their last block.
    /// - Throws: `CKError` where the directory of what was kept cannot be read (O-14).
    public func allLongLivedOperationIDs() async throws -> [CKOperation.ID] {
        try await scope.ask(longLivedIDs)
    }

    /// A long-lived operation that has not called its last block. Its blocks are to be set anew; added to the container
    /// it calls them all, and its request is not sent a second time.
    /// - Parameters:
    ///   - operationID: The operation's identifier.
    ///   - completionHandler: Given the operation, nil where there is none any longer, or an error.
    @preconcurrency
    public func fetchLongLivedOperation(
        withID operationID: CKOperation.ID,
        completionHandler: @escaping @Sendable (CKOperation?, (any Error)?) -> Void
    ) {
        scope.ask(longLived(operationID)) { result in
            switch result {
            case .success(let operation): completionHandler(operation, nil)
            case .failure(let error): completionHandler(nil, error)
            }
        }
    }

    /// A long-lived operation that has not called its last block. Its blocks are to be set anew; added to the container
    /// it calls them all, and its request is not sent a second time.
    /// - Parameter operationID: The operation's identifier.
    /// - Returns: The operation; nil where there is none any longer.
    /// - Throws: `CKError`: `internalError` where what was kept of it is damaged (O-14).
    public func longLivedOperation(for operationID: CKOperation.ID) async throws -> CKOperation? {
        try await scope.ask(longLived(operationID))
    }

    private typealias Question<Value> = @Sendable (any CloudServer, Caller) throws -> Value

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
