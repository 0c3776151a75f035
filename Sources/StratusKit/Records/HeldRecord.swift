// What a `CKRecord` keeps behind its lock, and its exchange with the server.
//
// Most fetched records are read once and never changed. So a record keeps the server's answer, whose values the engine
// has decoded anyway, and converts a part when a client reads it. The first change converts all parts, and so does what
// uses all of them: iterating, copying, archiving, and saving.

import Foundation
import StratusCloud
import StratusModel
import Synchronization

/// A change of a key since the record was created, fetched or saved.
struct FieldEdit: Sendable {
    /// Edits are numbered, so that an edit made during a save remains after it.
    var number: UInt64
    var isEncrypted: Bool
}

extension HeldField {
    /// The new value of a key, or the mistake in it. It asks the client's objects for their content, so call it without
    /// a lock.
    static func holding(_ value: Any?, forKey key: String, isEncrypted: Bool) -> Result<HeldField?, Misuse> {
        if let text = FieldKeyRule.misuse(of: key) { return .failure(Misuse(text)) }
        guard let value else { return .success(nil) }
        do throws(Misuse) {
            return .success(
                HeldField(value: try HeldValue(holding: value, isEncrypted: isEncrypted), isEncrypted: isEncrypted))
        } catch {
            return .failure(Misuse("Value of key \(key): \(error.text)"))
        }
    }
}

/// The variable part of a record: the server's answer until all parts are needed, then parts of its own.
struct RecordContent: Sendable {
    // Not an enum of the two: reading a part would copy its payload.
    private var answer: ClientRecord?
    /// With an answer: where the record was fetched, and by which account.
    private var origin: RecordOrigin?
    /// Without an answer: the parts. One or none; an array takes one word in the records that have none.
    private var own: [HeldRecord] = []

    /// The content of a new record.
    static let new = RecordContent(HeldRecord())

    init(_ parts: HeldRecord) { own = [parts] }

    /// What the server sent. Assets are objects that learn about their files, so a record with assets converts all
    /// parts now.
    init(_ answer: ClientRecord, origin: RecordOrigin?, download: @autoclosure () -> (any AssetDownload)?) {
        if answer.hasAssets {
            own = [HeldRecord(answer, origin: origin, download: download())]
        } else {
            self.answer = answer
            self.origin = origin
        }
    }

    /// All parts.
    var parts: HeldRecord {
        mutating get { withParts { $0 } }
    }

    /// Reads and changes the parts.
    mutating func withParts<Result>(
        _ body: (inout HeldRecord) throws -> sending Result
    ) rethrows -> sending Result {
        if let record = answer.take() { own = [HeldRecord(record, origin: origin.take(), download: nil)] }
        return try body(&own[0])
    }

    var changeTag: String? { if let answer { answer.changeTag } else { own[0].changeTag } }
    var creationDate: Date? { if let answer { answer.creationDate } else { own[0].creationDate } }
    var modificationDate: Date? { if let answer { answer.modificationDate } else { own[0].modificationDate } }
    var creator: CKRecordID? {
        if let answer { CKRecordID(recordName: answer.creatorUserName) } else { own[0].creator }
    }
    var lastModifier: CKRecordID? {
        if let answer { CKRecordID(recordName: answer.lastModifiedUserName) } else { own[0].lastModifier }
    }
    var misuse: String? { answer == nil ? own[0].misuse : nil }

    /// The reference to the parent. `zoneID` is the record's zone, and so the parent's.
    func parent(in zoneID: CKRecordZoneID) -> CKReference? {
        if let answer { answer.parentName.map { CKReference($0, in: zoneID) } } else { own[0].parent }
    }

    /// The reference to the share. `zoneID` is the record's zone, and so the share's.
    func share(in zoneID: CKRecordZoneID) -> CKReference? {
        if let answer { answer.shareName.map { CKReference($0, in: zoneID) } } else { own[0].share }
    }

    func object(forKey key: String, isEncrypted: Bool) -> (any __CKRecordObjCValue & CKRecordValueProtocol)? {
        guard let answer else { return own[0].object(forKey: key, isEncrypted: isEncrypted) }
        guard let field = answer.field(key), field.isEncrypted == isEncrypted else { return nil }
        return HeldValue.object(of: field.value)
    }

    /// The keys that have values, in alphabetical order.
    func keys(isEncrypted: Bool) -> [String] {
        if let answer { answer.fields.keys(isEncrypted: isEncrypted) } else { own[0].keys(isEncrypted: isEncrypted) }
    }

    /// The keys that were set, in alphabetical order.
    func changedKeys(isEncrypted: Bool) -> [String] {
        answer == nil ? own[0].changedKeys(isEncrypted: isEncrypted) : []
    }

    /// The assets in its fields, with their keys.
    var assets: [(key: String, asset: CKAsset)] { answer == nil ? own[0].assets : [] }
}

/// A record's content under a mutex. It is not a `Locked`, because that is a class: allocating one more object for each
/// record takes too long.
struct LockedContent: ~Copyable, Sendable {
    private let mutex: Mutex<RecordContent>
    /// Shows the mutex's ordering to the thread sanitizer, as in `Locked`.
    private let handover = Atomic<UInt8>(0)

    init(_ content: RecordContent) { mutex = Mutex(content) }

    func withLock<Result>(
        _ body: (inout sending RecordContent) throws -> sending Result
    ) rethrows -> sending Result {
        try mutex.withLock { content in
            _ = handover.load(ordering: .acquiring)
            defer { handover.store(0, ordering: .releasing) }
            return try body(&content)
        }
    }
}

/// The parts of a record: of a new one, or converted from the server's answer or an archive.
struct HeldRecord: Sendable {
    var changeTag: String?
    var creationDate: Date?
    var modificationDate: Date?
    var creator: CKRecordID?
    var lastModifier: CKRecordID?
    var parent: CKReference?
    var share: CKReference?
    var fields: [String: HeldField] = [:]

    /// The values as last fetched or saved: the ancestor in a conflict (S-05).
    var baseFields: [String: HeldField] = [:]
    /// The keys that were set since then, including those set to nil (C-03).
    var edits: [String: FieldEdit] = [:]
    var parentEditNumber: UInt64?
    var lastEditNumber: UInt64 = 0

    /// The programmer's first mistake.
    var misuse: String?
    /// Where the record was fetched or saved; nil for a new or decoded record.
    var origin: RecordOrigin?
    /// The digest of the origin, from an archive.
    var originMark: [UInt8]?

    mutating func nextEditNumber() -> UInt64 {
        lastEditNumber += 1
        return lastEditNumber
    }

    /// Sets or removes a value, and returns the old one. Release it outside the lock: a client's `deinit` may run.
    mutating func set(_ field: Result<HeldField?, Misuse>, forKey key: String, isEncrypted: Bool) -> HeldField? {
        switch field {
        case .failure(let mistake):
            StratusMisuse.note(mistake.text, in: &misuse)
            return nil
        case .success(let field):
            defer { fields[key] = field }
            edits[key] = FieldEdit(number: nextEditNumber(), isEncrypted: isEncrypted)
            return fields[key]
        }
    }

    func object(forKey key: String, isEncrypted: Bool) -> (any __CKRecordObjCValue & CKRecordValueProtocol)? {
        guard let field = fields[key], field.isEncrypted == isEncrypted else { return nil }
        return field.value.object
    }

    /// The keys that have values, sorted.
    func keys(isEncrypted: Bool) -> [String] {
        fields.filter { $0.value.isEncrypted == isEncrypted }.keys.sorted()
    }

    /// The assets in its fields, with their keys.
    var assets: [(key: String, asset: CKAsset)] {
        fields.flatMap { key, field in field.value.assets.map { (key, $0) } }
    }

    /// The keys that were set, sorted.
    func changedKeys(isEncrypted: Bool) -> [String] {
        edits.filter { $0.value.isEncrypted == isEncrypted }.keys.sorted()
    }
}

/// The participants of a share when its save began.
protocol SentSharing: Sendable {
    var claim: ShareClaim { get }
}

/// A record as it was when its save began.
struct SentRecord: Sendable {
    let recordType: String
    let address: RecordAddress
    let state: HeldRecord
    /// Nil for a record that is not a share.
    let sharing: (any SentSharing)?

    /// What the save sends to `target`. It copies the contents of assets that were taken from other records or
    /// databases, so it blocks its thread.
    func makeSave(to target: RecordOrigin) -> RecordSave {
        var fields: [String: ClientField] = [:]
        for (key, field) in state.fields {
            let value = field.value.clientValue(
                at: CKAsset.Place(record: address, key: key, in: target), isChanged: state.edits[key] != nil)
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
            return "The record was fetched in another container, database or account. Save it there, or save a new one."
        }
        guard state.misuse == nil, sharing == nil, recordType == CKRecord.SystemType.share else { return state.misuse }
        return "A record of type \(recordType) is a CKShare. Create it with one of its initialisers."
    }
}

extension CKRecord {
    /// All parts as they are now.
    var parts: HeldRecord { state.withLock { $0.parts } }

    /// Reads and changes the parts under the lock.
    func withParts<Result>(
        _ body: (inout HeldRecord) throws -> sending Result
    ) rethrows -> sending Result {
        try state.withLock { content in try content.withParts(body) }
    }

    /// A record from the server that is not a share. `from(_:origin:download:)` creates shares.
    /// - Parameters:
    ///   - answer: What the server sent.
    ///   - recordID: An object with the answer's address, if there is one.
    ///   - origin: Where it was fetched, and by which account.
    ///   - download: Creates private copies of its assets; nil if assets have no content (S-07).
    convenience init(
        _ answer: ClientRecord, _ recordID: CKRecordID? = nil, origin: RecordOrigin?,
        download: @autoclosure () -> (any AssetDownload)? = nil
    ) {
        self.init(recordType: answer.type, recordID: recordID ?? CKRecordID(answer.address))
        state.withLock { $0 = RecordContent(answer, origin: origin, download: download()) }
    }

    /// Begins a save. Edits made from now on remain after it. Fast for records of any size.
    func beginSave() -> SentRecord {
        SentRecord(
            recordType: recordType, address: recordID.address, state: parts, sharing: beginSharing())
    }

    /// Takes over the server's answer to a save of this record (C-04). The server's fields change, the values stay, and
    /// only keys that were set since the save began remain changed.
    ///
    /// Several saves of one record may be under way, and their answers arrive in any order. Each answer clears its own
    /// edits. An answer older than what the record knows changes none of the server's fields.
    func absorb(_ saved: ClientRecord, origin: RecordOrigin?, sent: SentRecord) {
        let sentEditNumber = sent.state.lastEditNumber
        // Release the old base outside the lock: a client's `deinit` may run.
        let (isNews, _) = withParts { state in
            let base = state.baseFields
            let isNews = state.modificationDate.map { $0 < saved.modificationDate } ?? true
            if isNews {
                state.absorbSystemFields(saved, origin: origin)
                // The values that were sent, not the current ones: an edit made meanwhile was not saved.
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
            sent.state.fields[key]?.value.confirm(
                field.value, at: CKAsset.Place(record: sent.address, key: key, in: origin))
        }
    }

    /// The version that this record is based on (S-05). For a record that was never saved, a version without values.
    func makeAncestor() -> CKRecord {
        var state = parts
        state.fields = state.baseFields
        state.edits = [:]
        state.parentEditNumber = nil
        state.misuse = nil
        return makeRecord(state, isAncestor: true)
    }

    /// Restores the file of an asset after decoding. No key becomes changed.
    /// - Parameters:
    ///   - path: The file.
    ///   - key: The key of the asset's field.
    ///   - item: The asset's index in a list.
    func restoreFile(_ path: String, forKey key: String, item: Int?) {
        let asset = HeldValue.asset(CKAsset(keptFile: path))
        withParts { state in
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

extension HeldRecord {
    init(_ answer: ClientRecord, origin: RecordOrigin?, download: (any AssetDownload)?) {
        absorbSystemFields(answer, origin: origin)
        parent = answer.parent.map(CKReference.init)
        let address = answer.address
        let answered = answer.fields
        fields.reserveCapacity(answered.count)
        for (key, field) in answered {
            let value = HeldValue(
                field.value, at: CKAsset.Place(record: address, key: key, in: origin), download: download)
            fields[key] = HeldField(value: value, isEncrypted: field.isEncrypted)
        }
        baseFields = fields
    }

    fileprivate mutating func absorbSystemFields(_ answer: ClientRecord, origin: RecordOrigin?) {
        changeTag = answer.changeTag
        creationDate = answer.creationDate
        modificationDate = answer.modificationDate
        let creator = CKRecordID(recordName: answer.creatorUserName)
        let modifierName = answer.lastModifiedUserName
        self.creator = creator
        lastModifier =
            UserName(modifierName) == UserName(creator.recordName) ? creator : CKRecordID(recordName: modifierName)
        share = answer.share.map(CKReference.init)
        self.origin = origin
        originMark = nil
    }
}

/// The client's check of field keys when a value is set (L-10). The server's own check is stricter (L-09).
enum FieldKeyRule {
    /// Keys of system fields that a client may set like any other: the fields of a share.
    private static let systemKeys: Set = ["cloudkit.title", "cloudkit.thumbnailImageData", "cloudkit.type"]

    /// The problem with a key, or nil.
    static func misuse(of key: String) -> String? {
        guard let first = key.utf8.first else { return "recordKey can not be empty" }
        let rest = key.utf8.dropFirst()
        let isWellFormed =
            first.isNameStart && rest.allSatisfy { $0.isNameStart || $0.isDigit || $0 == UInt8(ascii: "$") }
        return isWellFormed || systemKeys.contains(key) ? nil : "recordKey (\(key)) contains invalid characters"
    }
}

extension UInt8 {
    /// Whether the byte is a letter of ASCII or an underscore.
    var isNameStart: Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) || self == UInt8(ascii: "_")
    }

    /// Whether the byte is a digit of ASCII.
    var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
}
