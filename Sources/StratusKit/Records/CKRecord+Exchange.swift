// Records between client and server.

import Foundation
import StratusCloud
import StratusModel
import StratusStore

/// Who was to take part in a share when its save began.
protocol SentSharing: Sendable {
    var claim: ShareClaim { get }
}

/// A record as it was when its save began.
struct SentRecord: Sendable {
    let recordType: String
    let address: RecordAddress
    let state: RecordState
    /// Nil for a record that is no share.
    let sharing: (any SentSharing)?

    /// What the save sends to `target`. It copies contents of assets that were taken from other records or databases, so it
    /// blocks its thread.
    func makeSave(to target: RecordOrigin) -> RecordSave {
        var fields: [String: ClientField] = [:]
        for (key, field) in state.fields {
            let place = CKAsset.Place(record: address, key: key, in: target)
            let value = field.value.clientValue(at: place, isChanged: state.edits[key] != nil)
            fields[key] = ClientField(value, isEncrypted: field.isEncrypted)
        }
        return RecordSave(
            address: address, type: recordType, baseTag: state.changeTag, parent: state.parent?.clientReference,
            isParentChanged: state.parentEditNumber != nil, share: state.share?.clientReference, fields: fields,
            changedKeys: Set(state.edits.keys), misuse: misuse(in: target), origin: state.origin,
            sharing: sharing?.claim)
    }

    /// The mistake that fails the save.
    private func misuse(in target: RecordOrigin) -> String? {
        if state.misuse == nil, state.origin == nil, let mark = state.originMark, !target.matches(mark) {
            return "The record was fetched in another container, database or account: save it there, or a new one."
        }
        guard state.misuse == nil, sharing == nil, recordType == CKRecord.SystemType.share else { return state.misuse }
        return "A record of type \(recordType) is a CKShare: make it with one of its initialisers."
    }
}

extension CKRecord {
    /// A record from the server, which is no share: those are made by `from(_:origin:download:)`.
    /// - Parameters:
    ///   - answer: What the server sent.
    ///   - origin: From where it was fetched, and by whom.
    ///   - download: Makes private copies of its assets; nil where assets have no content (S-07).
    convenience init(_ answer: ClientRecord, origin: RecordOrigin?, download: (any AssetDownload)? = nil) {
        self.init(
            recordType: answer.type, recordID: CKRecordID(answer.address),
            state: RecordState(answer, origin: origin, download: download))
    }

    /// Begins a save: edits made from now on outlast it. Quick, whatever the record holds.
    func beginSave() -> SentRecord {
        SentRecord(
            recordType: recordType, address: recordID.address, state: state.value, sharing: beginSharing())
    }

    /// Takes over what the server has made of this record when it was saved (C-04): the server's fields change, the
    /// values stay, and no key is changed any longer but those set since the save began.
    ///
    /// Several saves of one record may be under way, and their answers come in any order: each takes its own edits back,
    /// and an answer older than what the record knows changes no field of the server's.
    func absorb(_ saved: ClientRecord, origin: RecordOrigin?, sent: SentRecord) {
        let sentEditNumber = sent.state.lastEditNumber
        // What the base was is let go of after the lock: that may end objects of a client's.
        let (isNews, _) = state.withLock { state in
            let base = state.baseFields
            let isNews = state.modificationDate.map { $0 < saved.modificationDate } ?? true
            if isNews {
                state.absorbSystemFields(saved, origin: origin)
                // What was sent, and not what is there now: an edit made meanwhile is no part of what was saved.
                state.baseFields = sent.state.fields
            }
            state.edits = state.edits.filter { $0.value.number > sentEditNumber }
            if state.parentEditNumber ?? 0 <= sentEditNumber {
                state.parentEditNumber = nil
                if isNews { state.parent = saved.parent.map(CKReference.init) }
            }
            return (isNews, base)
        }
        absorbSharing(saved.sharing, isNews: isNews, origin: origin, sent: sent.sharing)
        guard isNews else { return }
        for (key, field) in saved.fields {
            let place = CKAsset.Place(record: sent.address, key: key, in: origin)
            sent.state.fields[key]?.value.confirm(field.value, at: place)
        }
    }

    /// The version that this record began as (S-05); for a record that was never saved one without values.
    func makeAncestor() -> CKRecord {
        var state = state.value
        state.fields = state.baseFields
        state.edits = [:]
        state.parentEditNumber = nil
        state.misuse = nil
        return makeRecord(state, isAncestor: true)
    }

    /// Gives an asset its file back after an archive, which has none; no key becomes changed by it.
    /// - Parameters:
    ///   - path: The file.
    ///   - key: The key of the asset's field.
    ///   - item: The asset's place in a list.
    func restoreFile(_ path: String, forKey key: String, item: Int?) {
        let asset = HeldValue.asset(CKAsset(keptFile: path))
        state.withLock { state in
            switch (state.fields[key]?.value, item) {
            case (.asset, nil): state.fields[key]?.value = asset
            case (.list(var values), let item?) where values.indices.contains(item):
                values[item] = asset
                state.fields[key]?.value = .list(values)
            default: break
            }
        }
    }
}

extension RecordState {
    init(_ answer: ClientRecord, origin: RecordOrigin?, download: (any AssetDownload)?) {
        absorbSystemFields(answer, origin: origin)
        parent = answer.parent.map(CKReference.init)
        let address = answer.address
        for (key, field) in answer.fields {
            let place = CKAsset.Place(record: address, key: key, in: origin)
            let value = HeldValue(field.value, at: place, download: download)
            fields[key] = HeldField(value: value, isEncrypted: field.isEncrypted)
        }
        baseFields = fields
    }

    fileprivate mutating func absorbSystemFields(_ answer: ClientRecord, origin: RecordOrigin?) {
        changeTag = answer.changeTag
        creationDate = answer.creationDate
        modificationDate = answer.modificationDate
        creator = CKRecordID(recordName: answer.creatorUserName)
        lastModifier = CKRecordID(recordName: answer.lastModifiedUserName)
        share = answer.share.map(CKReference.init)
        self.origin = origin
        originMark = nil
    }
}
