// Records between client and server.

import Foundation
import StratusCloud
import StratusModel
import StratusStore

extension CKRecord {
    /// A record from the server.
    /// - Parameters:
    ///   - answer: What the server sent.
    ///   - account: Who fetched it.
    ///   - download: Makes private copies of its assets; nil where assets have no content (S-07).
    convenience init(_ answer: ClientRecord, account: AccountID?, download: AssetDownload? = nil) {
        self.init(
            recordType: answer.type, recordID: CKRecordID(answer.address),
            state: RecordState(answer, account: account, download: download))
    }

    /// What a save of this record sends.
    func makeSave() -> RecordSave { beginSave().save }

    /// What a save of this record sends, and the number of the last edit in it: edits made from now on outlast the save.
    func beginSave() -> (save: RecordSave, sentEditNumber: UInt64) {
        let address = recordID.address
        let state = state.value
        let edits = state.edits
        var fields: [String: ClientField] = [:]
        for (key, field) in state.fields {
            let place = CKAsset.Place(record: address, key: key)
            let value = field.value.clientValue(at: place, isChanged: edits[key] != nil)
            fields[key] = ClientField(value, isEncrypted: field.isEncrypted)
        }
        let save = RecordSave(
            address: address, type: recordType, baseTag: state.changeTag, parent: state.parent?.clientReference,
            isParentChanged: state.parentEditNumber != nil, share: state.share?.clientReference, fields: fields,
            changedKeys: Set(edits.keys), misuse: state.misuse, fetchedBy: state.account)
        return (save, state.lastEditNumber)
    }

    /// Takes over what the server has made of this record when it was saved (C-04): the server's fields change, the
    /// values stay, and no key is changed any longer but those set since the save began.
    ///
    /// Several saves of one record may be under way, and their answers come in any order: each takes its own edits back,
    /// and an answer older than what the record knows changes no field of the server's.
    func absorb(_ saved: ClientRecord, account: AccountID?, sentEditNumber: UInt64) {
        let address = recordID.address
        // What the base was is let go of after the lock: that may end objects of a client's.
        _ = state.withLock { state in
            let base = state.baseFields
            let isNews = state.modificationDate.map { $0 < saved.modificationDate } ?? true
            if isNews { state.absorbSystemFields(saved, account: account) }
            state.edits = state.edits.filter { $0.value.number > sentEditNumber }
            if state.parentEditNumber ?? 0 <= sentEditNumber {
                state.parentEditNumber = nil
                if isNews { state.parent = saved.parent.map(CKReference.init) }
            }
            for (key, field) in saved.fields {
                guard let held = state.fields[key], state.edits[key] == nil else { continue }
                held.value.confirm(field.value, at: CKAsset.Place(record: address, key: key))
            }
            state.baseFields = state.fields.filter { state.edits[$0.key] == nil }
            return base
        }
    }

    /// The version that this record began as (S-05); for a record that was never saved one without values.
    func makeAncestor() -> CKRecord {
        var state = state.value
        state.fields = state.baseFields
        state.edits = [:]
        state.parentEditNumber = nil
        state.misuse = nil
        return CKRecord(recordType: recordType, recordID: recordID, state: state)
    }
}

extension RecordState {
    init(_ answer: ClientRecord, account: AccountID?, download: AssetDownload?) {
        absorbSystemFields(answer, account: account)
        parent = answer.parent.map(CKReference.init)
        for (key, field) in answer.fields {
            let place = CKAsset.Place(record: answer.address, key: key)
            let value = HeldValue(field.value, at: place, download: download)
            fields[key] = HeldField(value: value, isEncrypted: field.isEncrypted)
        }
        baseFields = fields
    }

    fileprivate mutating func absorbSystemFields(_ answer: ClientRecord, account: AccountID?) {
        changeTag = answer.changeTag
        creationDate = answer.creationDate
        modificationDate = answer.modificationDate
        creator = CKRecordID(recordName: answer.creatorUserName)
        lastModifier = CKRecordID(recordName: answer.lastModifiedUserName)
        share = answer.share.map(CKReference.init)
        self.account = account
    }
}
