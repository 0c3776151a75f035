// Sharing a list: with whom, and how it ends. The store decides who may do what.

import Foundation
import StratusKit

extension UserLists {
    /// The participants of a list; empty if it is not shared.
    func participants(of address: ListAddress) async throws -> [CKShare.Participant] {
        try await share(of: list(address))?.participants ?? []
    }

    /// Invites a person by their address, with or without an account, and sends them a link.
    /// - Returns: All participants afterwards.
    func invite(
        _ email: String, to address: ListAddress, permission: CKShare.ParticipantPermission
    ) async throws -> [CKShare.Participant] {
        let shareID = try await makeShare(of: address)
        let person = CKUserIdentity.LookupInfo(emailAddress: email)
        return try await cloud.invite([person], to: shareID, in: container, permission: permission).participants
    }

    /// Removes a person from a list.
    func remove(participant id: CKShare.Participant.ID, from address: ListAddress) async throws {
        for attempt in 1... {
            guard let share = try await share(of: list(address)),
                let participant = share.participants.first(where: { $0.participantID == id })
            else { throw CKError(.unknownItem) }
            share.removeParticipant(participant)
            do {
                try await database(of: share.recordID.zoneID).save(share)
                return
            } catch let error as CKError where error.code == .serverRecordChanged {
                guard attempt < Limits.attemptCount else { throw error }
            }
        }
    }

    /// Stops sharing your own list, or leaves another person's.
    func deleteShare(of address: ListAddress) async throws {
        guard let shareID = try await list(address).share?.recordID else { throw CKError(.unknownItem) }
        try await database(of: shareID.zoneID).deleteRecord(withID: shareID)
    }

    /// Accepts a share by its link, as a tap on it does on Apple's systems.
    /// - Returns: The list.
    func accept(link: URL, as account: Stratus.Account) async throws -> CKRecord {
        let root = try await cloud.open(link, as: account).hierarchicalRootRecordID
        guard let root else { throw CKError(.unknownItem) }
        return try await record(root, ofType: RecordType.list)
    }

    private func share(of list: CKRecord) async throws -> CKShare? {
        guard let id = list.share?.recordID else { return nil }
        return try await database(of: id.zoneID).record(for: id) as? CKShare
    }

    /// The share of a list, created if there is none.
    private func makeShare(of address: ListAddress) async throws -> CKRecord.ID {
        for attempt in 1... {
            let list = try await list(address)
            if let shareID = list.share?.recordID { return shareID }
            let share = CKShare(rootRecord: list)
            share[CKShare.SystemFieldKey.title] = list["title"] as? String
            do {
                let answers = try await database(of: list.recordID.zoneID).modifyRecords(
                    saving: [list, share], deleting: [])
                try answers.saveResults.throwFirstCause()
                return share.recordID
            } catch let error as CKError where error.code == .serverRecordChanged || error.code == .alreadyShared {
                // Someone has changed or shared it meanwhile.
                guard attempt < Limits.attemptCount else { throw error }
            }
        }
        throw CKError(.internalError)
    }
}

extension [CKRecord.ID: Result<CKRecord, any Error>] {
    /// Throws why a request was refused: the error of a record that was at fault, before those that only shared its
    /// fate.
    fileprivate func throwFirstCause() throws {
        let errors = values.compactMap { result -> (any Error)? in
            if case .failure(let error) = result { error } else { nil }
        }
        let cause = errors.first { ($0 as? CKError)?.code != .batchRequestFailed }
        if let error = cause ?? errors.first { throw error }
    }
}
