// Which contents are in use, and where their files are.
//
// The ledger has a count for each content of each owner, changed in the same transaction as the records that hold it. A
// content without an entry is unused, and the collector removes it.

import FoundationEssentials
package import StratusLayout
package import StratusModel
package import StratusRecords
import StratusStore

/// Counts how often each content is held.
package struct AssetLedger: Sendable {
    private let store: AssetStore?
    private var leases: AssetLeases? { store?.leases }

    /// - Parameter store: the contents; without one only contents that are in the ledger can be added.
    package init(store: AssetStore?) { self.store = store }

    /// What a lease says of a content without an entry in the ledger.
    private struct LeasedContent {
        /// Which upload the ledger shall name; nil where contents are files.
        var upload: UUID?
    }

    /// Finds a request's lease on a content, and extends it where contents are files; nil if it has ended.
    private func leased(
        _ key: AssetKey, atUptimeSeconds uptimeSeconds: Double?, in transaction: RecordTransaction
    ) throws -> LeasedContent? {
        guard let store, let uptimeSeconds else { return nil }
        guard let stored = store.stored else {
            return store.leases.renew(key, atUptimeSeconds: uptimeSeconds) ? LeasedContent() : nil
        }
        return try stored.leasedUpload(of: key, in: transaction).map { LeasedContent(upload: $0) }
    }

    /// Counts the contents that records of an owner start and stop holding in this transaction, once for each field or
    /// list item. A content added and removed equally often does not change.
    ///
    /// `uptimeSeconds` is the time at which leases are checked, read before the transaction; nil if nothing is added.
    ///
    /// Throws `assetNotAvailable` if a content is neither in the ledger nor leased: it may be collected already, and
    /// must be uploaded again. Throws `StoreError` with `corruption` if a content is removed more often than counted.
    package func settle(
        adding added: [AssetDescriptor: Int], removing removed: [AssetDescriptor: Int], owner: UserName,
        atUptimeSeconds uptimeSeconds: Double? = nil, in transaction: RecordTransaction
    ) throws {
        for change in Self.changes(adding: added, removing: removed) {
            let key = AssetKey(owner: owner, digest: change.digest)
            let ledgerKey = GlobalKeys.asset(owner: key.owner, digest: key.digest)
            let entry = try Self.entry(of: key, in: transaction)
            let (count, isOverflow) = Int64(clamping: entry?.count ?? 0).addingReportingOverflow(Int64(change.count))
            guard !isOverflow, count >= 0 else {
                throw StoreError(
                    .corruption, "An asset is removed more often than it is counted. Verify the assets of the store.",
                    ["digest": Hex.text(key.digest), "owner": key.owner.text])
            }
            var upload = entry?.upload
            if entry == nil || upload != nil && change.count > 0 {
                let leased = try leased(key, atUptimeSeconds: uptimeSeconds, in: transaction)
                guard entry != nil || leased != nil else { throw Self.unavailableError(digest: key.digest) }
                if let old = upload, let new = leased?.upload, new != old {
                    // The request has uploaded it again, because the other was damaged or not there yet.
                    try StoredContents.noteUnused(key, old, in: transaction)
                }
                upload = leased?.upload ?? upload
            }
            guard count > 0 else {
                try transaction.delete(ledgerKey)
                if let upload {
                    try StoredContents.noteUnused(key, upload, in: transaction)
                } else {
                    transaction.onPublish { [leases] _ in leases?.noteOrphan(key) }
                }
                continue
            }
            let new = AssetEntry(
                count: UInt64(count), byteCount: entry?.byteCount ?? change.byteCount, upload: upload)
            try transaction.set(ledgerKey, to: new.encoded())
            if entry == nil { transaction.onPublish { [leases] _ in leases?.noteCommitted(key) } }
        }
    }

    /// The contents that `settle` would refuse with `assetNotAvailable`. Extends the leases of all others. Writes
    /// nothing.
    package func unavailable(
        adding added: [AssetDescriptor: Int], removing removed: [AssetDescriptor: Int], owner: UserName,
        atUptimeSeconds uptimeSeconds: Double, in transaction: RecordTransaction
    ) throws -> Set<[UInt8]> {
        var digests: Set<[UInt8]> = []
        for change in Self.changes(adding: added, removing: removed) where change.count > 0 {
            let key = AssetKey(owner: owner, digest: change.digest)
            guard try Self.entry(of: key, in: transaction) == nil else { continue }
            if try leased(key, atUptimeSeconds: uptimeSeconds, in: transaction) == nil { digests.insert(change.digest) }
        }
        return digests
    }

    static func unavailableError(digest: [UInt8]) -> CloudError {
        CloudError(
            .assetNotAvailable, "The server no longer has the asset's content. Save it again from its file.",
            ["digest": Hex.text(digest)])
    }

    private struct Change {
        var digest: [UInt8]
        var count = 0
        var byteCount: Int64
    }

    /// The contents whose counts change, in the order of their digests.
    private static func changes(
        adding added: [AssetDescriptor: Int], removing removed: [AssetDescriptor: Int]
    ) -> [Change] {
        var changes: [[UInt8]: Change] = [:]
        func note(_ asset: AssetDescriptor, _ count: Int) {
            changes[asset.digest, default: Change(digest: asset.digest, byteCount: asset.byteCount)].count += count
        }
        for (asset, count) in added { note(asset, count) }
        for (asset, count) in removed { note(asset, -count) }
        return changes.values.filter { $0.count != 0 }.sorted { $0.digest.lexicographicallyPrecedes($1.digest) }
    }

    /// The most that counting one content up or down counts in a transaction: each entry is read and written, and the
    /// leases on the content are read.
    func countedByteCount(of owner: UserName) -> Int {
        // Zeros are escaped in keys, so no digest makes a longer one.
        let digest = [UInt8](repeating: 0, count: 32)
        let key = GlobalKeys.asset(owner: owner, digest: digest)
        let byteCount = StoreLimits.countedByteCount(updatingKey: key.count, value: 24)
        guard store?.stored != nil else { return byteCount }
        let uploads = GlobalKeys.uploads(of: owner, digest: digest)
        return byteCount + 2 * StoreLimits.countedByteCount(scanning: uploads)
            + 2 * StoreLimits.countedByteCount(updatingKey: uploads.upper.count + 20, value: 40)
    }

    /// The count of a content; nil if no record holds it.
    package static func entry(of key: AssetKey, in reader: RecordReader) throws -> AssetEntry? {
        try reader.store.withValue(forKey: GlobalKeys.asset(owner: key.owner, digest: key.digest)) {
            try AssetEntry(decoding: $0)
        }
    }
}

extension AssetLedger {
    /// Entries of the ledger that are read in one snapshot.
    private static let pageCount = 256

    /// Visits the ledger a page at a time, each in a snapshot of its own, for work on contents that takes long.
    static func visitPages(
        in engine: RecordEngine, _ visit: (_ page: [(key: AssetKey, entry: AssetEntry)]) throws -> Void
    ) throws {
        var range = GlobalKeys.keyspace(.assets)
        while true {
            var page: [(key: AssetKey, entry: AssetEntry)] = []
            try engine.read { reader in
                try reader.store.scan(range, .forward, limit: pageCount) { key, value in
                    let (owner, digest) = try GlobalKeys.readAssetKey(key)
                    page.append((AssetKey(owner: owner, digest: digest), try AssetEntry(decoding: value)))
                    return .next
                }
            }
            guard let last = page.last else { return }
            try visit(page)
            range = GlobalKeys.assets(after: last.key.owner, last.key.digest)
        }
    }

    /// The owner of the data of a container's public database: the app, not an account.
    package static func publicOwner(of container: ContainerName) -> UserName {
        UserName(publicOwnerPrefix + container.text)
    }

    /// Whether the owner is an app. People's names begin with an underscore.
    package static func isPublicOwner(_ owner: UserName) -> Bool {
        owner.text.utf8.starts(with: publicOwnerPrefix.utf8)
    }

    /// The beginning of such an owner's name, before the name of the container.
    static let publicOwnerPrefix = "public:"
}

extension Record {
    /// The contents in the record's fields, with counts.
    package var assets: [AssetDescriptor: Int] {
        var assets: [AssetDescriptor: Int] = [:]
        for field in fields.values {
            switch field.value {
            case .asset(let asset): assets[asset, default: 0] += 1
            case .list(let items):
                for case .asset(let asset) in items { assets[asset, default: 0] += 1 }
            default: break
            }
        }
        return assets
    }
}

/// The paths in one directory of assets:
///
///     content/<owner>/<first byte>/<digest>   contents, hexadecimal, once per owner
///     incoming/<session>-<number>             contents that are being stored
///     copies/<session>/<number>-<digest>      copies for clients
///
/// Owners' names are escaped, so that every name is a valid directory name and can be read back. If the escaped name of
/// a container's app is too long for a directory, because of many dots, it is "=" and the plain name of the container.
/// No escaped name has a "=", so no two owners share a directory.
struct AssetDirectory: Sendable {
    let top: String
    /// The directory of all sessions' copies for clients.
    let copies: String
    /// The copies of this session.
    let sessionCopies: String
    private let session: String

    init(top: String, copies: String?, session: UUID) {
        self.top = top
        self.copies = copies ?? top + "/copies"
        self.session = session.uuidString
        sessionCopies = self.copies + "/" + self.session
    }

    var content: String { top + "/content" }
    var incoming: String { top + "/incoming" }

    func incomingFile(_ number: UInt64) -> String { "\(incoming)/\(session)-\(number)" }

    func owner(_ owner: UserName) -> String { content + "/" + Self.directoryName(of: owner) }

    func folder(of key: AssetKey) -> String { owner(key.owner) + "/" + Hex.text(Array(key.digest.prefix(1))) }

    func file(of key: AssetKey) -> String { folder(of: key) + "/" + Self.name(of: key) }

    static func name(of key: AssetKey) -> String { Hex.text(key.digest) }

    /// The first byte of the digests in a folder; nil for a foreign folder.
    static func firstByte(ofFolder name: String) -> UInt8? {
        guard let bytes = Hex.bytes(name), bytes.count == 1, Hex.text(bytes) == name else { return nil }
        return bytes[0]
    }

    /// The digest that is the name of a file; nil for a foreign file.
    static func digest(ofFile name: String, in folder: String) -> [UInt8]? {
        guard name.utf8.count == 64, name.hasPrefix(folder), let digest = Hex.bytes(name) else { return nil }
        return Hex.text(digest) == name ? digest : nil
    }

    /// The maximum length of a directory's name in bytes.
    private static let maximumNameByteCount = 255

    /// Whether an owner's name can be the name of a directory.
    static func canHold(_ owner: UserName) -> Bool {
        !owner.text.isEmpty && directoryName(of: owner).utf8.count <= maximumNameByteCount
    }

    private static func directoryName(of owner: UserName) -> String {
        let name = escaped(owner.text)
        guard name.utf8.count > maximumNameByteCount, AssetLedger.isPublicOwner(owner) else { return name }
        let container = owner.text.utf8.dropFirst(AssetLedger.publicOwnerPrefix.utf8.count)
        guard container.allSatisfy({ isPlain($0) || $0 == UInt8(ascii: ".") }) else { return name }
        return "=" + String(Substring(container))
    }

    /// A name with every byte except ASCII letters, digits, `_` and `-` as `%xx`.
    private static func escaped(_ name: String) -> String {
        var text = ""
        for byte in name.utf8 {
            if isPlain(byte) {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += "%" + Hex.text([byte])
            }
        }
        return text
    }

    /// The owner whose directory has this name; nil for a foreign directory.
    static func owner(ofDirectory name: String) -> UserName? {
        if name.utf8.first == UInt8(ascii: "=") {
            let owner = UserName(AssetLedger.publicOwnerPrefix + String(name.dropFirst()))
            return directoryName(of: owner) == name ? owner : nil
        }
        var bytes: [UInt8] = []
        var rest = Substring(name).utf8
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%") {
                guard let decoded = Hex.bytes(Substring(rest.prefix(2))), decoded.count == 1 else { return nil }
                bytes += decoded
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        return directoryName(of: UserName(text)) == name ? UserName(text) : nil
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"): true
        default: false
        }
    }
}
