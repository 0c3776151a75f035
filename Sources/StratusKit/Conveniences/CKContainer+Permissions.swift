// The permission to be found by others. Here the host decides who can be found, so users are not asked: what they are told
// is what the host has decided.

import Foundation
import StratusCloud

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
        try server.answer(DiscoverabilityRequest(), as: caller)
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
