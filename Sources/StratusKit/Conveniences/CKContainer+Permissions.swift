// The permission to be found by others. Here the host decides who can be found, so users are not asked: whoever has an
// account has granted it.

import Foundation

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
        case initialState = 0
        case couldNotComplete = 1
        case denied = 2
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
    ///   - completionHandler: Given `granted`, or `couldNotComplete` and an error without an account.
    @available(*, deprecated, message: "User discovery is no longer asked for.")
    public func status(
        forApplicationPermission applicationPermission: CKContainer.ApplicationPermissions,
        completionHandler: @escaping ApplicationPermissionBlock
    ) {
        let handler = Gathered(completionHandler)
        fetchUserRecordID { recordID, error in
            handler.value(recordID == nil ? .couldNotComplete : .granted, error)
        }
    }

    /// Whether the user can be found by others.
    /// - Parameter applicationPermission: What is asked for.
    /// - Returns: `granted`.
    /// - Throws: `CKError` without an account.
    @available(*, deprecated, message: "User discovery is no longer asked for.")
    public func applicationPermissionStatus(
        for applicationPermission: CKContainer.ApplicationPermissions
    ) async throws -> CKContainer.ApplicationPermissionStatus {
        _ = try await userRecordID()
        return .granted
    }

    /// Asks the user to be found by others.
    /// - Parameters:
    ///   - applicationPermission: What is asked for.
    ///   - completionHandler: Given `granted`, or `couldNotComplete` and an error without an account.
    @available(*, deprecated, message: "User discovery is no longer asked for.")
    public func requestApplicationPermission(
        _ applicationPermission: CKContainer.ApplicationPermissions,
        completionHandler: @escaping ApplicationPermissionBlock
    ) {
        status(forApplicationPermission: applicationPermission, completionHandler: completionHandler)
    }

    /// Asks the user to be found by others.
    /// - Parameter applicationPermission: What is asked for.
    /// - Returns: `granted`.
    /// - Throws: `CKError` without an account.
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
