// What verbs ask of a store beside its records: of the store itself, or of the process that has it open and serves it.

import Foundation
import StratusCloud
import StratusKit

/// The calls of a host that verbs make.
protocol StoreHost: Sendable {
    /// The server's rules. Those of another process's store look things up, and change nothing.
    var service: CloudService { get throws }
    func account(id: String) throws -> Stratus.Account?
    func account(externalID: String, createIfMissing account: Stratus.NewAccount) throws -> Stratus.Account
    func createAccount(_ account: Stratus.NewAccount, externalID: String?) throws -> Stratus.Account
    func setHandles(
        emails: Set<String>, phoneNumbers: Set<String>, of account: Stratus.Account
    ) throws -> Stratus.Account
    func setStanding(_ standing: Stratus.Standing, of account: Stratus.Account) throws -> Stratus.Account
    func deleteAccountWithAllData(
        _ account: Stratus.Account, progress: @escaping FreeingProgress.Listener
    ) throws
    func container(_ identifier: String, signedInAs account: Stratus.Account) -> CKContainer
    func open(_ url: URL, as account: Stratus.Account) throws -> CKShare.Metadata
    func invite(
        _ people: [CKUserIdentity.LookupInfo], to shareID: CKRecord.ID, in container: CKContainer,
        permission: CKShare.ParticipantPermission, role: CKShare.ParticipantRole
    ) async throws
    func setPublicPermission(
        _ permission: CKShare.ParticipantPermission, of shareID: CKRecord.ID, in container: CKContainer
    ) async throws
    func importSchema(_ text: String, intoContainer identifier: String) throws
    func close()
}

extension Stratus: StoreHost {
    func deleteAccountWithAllData(
        _ account: Stratus.Account, progress: @escaping FreeingProgress.Listener
    ) throws {
        let tell: FreeingProgress.Listener? = progress
        try deleteAccountWithAllData(account, progress: tell)
    }

    func invite(
        _ people: [CKUserIdentity.LookupInfo], to shareID: CKRecord.ID, in container: CKContainer,
        permission: CKShare.ParticipantPermission, role: CKShare.ParticipantRole
    ) async throws {
        try await invite(
            people, to: shareID, in: container, permission: permission, role: role, allowing: .standard)
    }

    func setPublicPermission(
        _ permission: CKShare.ParticipantPermission, of shareID: CKRecord.ID, in container: CKContainer
    ) async throws {
        try await setPublicPermission(permission, of: shareID, in: container, allowing: .standard)
    }
}

extension ServedStore: StoreHost {}
