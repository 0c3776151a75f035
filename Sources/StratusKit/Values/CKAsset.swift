// A file as the value of a field.
//
// An asset is created in three ways. A client creates it from a file, which a save uploads. The server's answer creates
// it from a known content, with a private copy that exists before the client gets the record. An archive creates it
// without a file, even if the archive names one: a path from outside must never be read (X-27).

public import Foundation
import StratusCloud
import StratusModel
import StratusStore

/// Creates the private copies of one record's assets, and remembers them.
protocol AssetDownload: Sendable {
    /// Creates a private copy of the content in a field. Throws if the content cannot be read.
    func makeCopy(of content: AssetDescriptor, at place: CKAsset.Place) throws -> URL
    /// Remembers a copy whose path no client has seen yet.
    func take(_ copy: URL)
    /// Notes that a client has seen the path of a copy.
    func show(_ copy: URL)
}

/// A file that a record owns.
open class CKAsset: NSObject, NSSecureCoding, @unchecked Sendable {
    // Unchecked because the compiler cannot check a class that can be subclassed. Its own state is locked; a subclass,
    // such as one that writes its file, is responsible for what it adds.

    /// The field that is confirmed to hold the asset's content. Records of the same name in two databases are two
    /// places: a content in one of them must be uploaded to the other.
    struct Place: Hashable, Sendable {
        let record: RecordAddress
        let key: String
        /// The database, and the account if each account has its own data; nil if unknown.
        let origin: RecordOrigin?

        init(record: RecordAddress, key: String, in origin: RecordOrigin?) {
            self.record = record
            self.key = key
            var origin = origin
            if origin?.database == .public { origin?.account = nil }
            self.origin = origin
        }

        /// The place of a value that is in no record.
        static let nowhere = Place(record: RecordAddress(recordName: ""), key: "", in: nil)
    }

    private struct State: Sendable {
        /// The client's own file.
        var upload: URL?
        /// Whether that file is an operation's copy, which is removed with the operation.
        var isKeptUpload = false
        /// The content that the server is known to have for this asset.
        var confirmed: AssetDescriptor?
        /// The field that holds that content; nil if it is known from an archive.
        var confirmedPlace: Place?
        /// What Apple's system says about the content.
        var apple: AppleContent?
        /// Nil if the content is not delivered.
        var download: (any AssetDownload)?
        /// The field it was fetched from. Saving it in another field uploads it again.
        var source: Place?
        /// The private copy, once it exists.
        var copy: URL?
        /// Whether the client has seen the path of the copy.
        var isShown = false
    }

    private let state: Locked<State>

    private init(_ state: State) {
        self.state = Locked(state)
        super.init()
    }

    /// Creates an asset from a file. The file need not exist before the record is saved (C-10).
    ///
    /// A URL that is not a file URL is a mistake: saving a record with the asset fails (X-25).
    public init(fileURL: URL) {
        state = Locked(State(upload: fileURL))
        super.init()
    }

    /// An asset with a file that an operation keeps until it ends.
    convenience init(keptFile path: String) {
        self.init(State(upload: URL(fileURLWithPath: path), isKeptUpload: true))
    }

    /// An asset from the server.
    /// - Parameters:
    ///   - content: The content that the server has.
    ///   - place: The field that holds it.
    ///   - download: Nil if the content is not delivered, as in the record of a conflict (S-07).
    convenience init(_ content: AssetDescriptor, at place: Place, download: (any AssetDownload)?) {
        self.init(State(confirmed: content, confirmedPlace: place, download: download, source: place))
    }

    /// An asset whose content is known from an archive.
    convenience init(archived content: AssetDescriptor) {
        self.init(State(confirmed: content))
    }

    /// An asset of Apple's. Its content is not available here.
    convenience init(apple content: AppleContent) {
        self.init(State(apple: content))
    }

    /// What Apple's system says about the content, if the asset comes from there.
    var appleContent: AppleContent? { state.withLock { $0.apple } }

    /// The content that the server is known to have for this asset.
    var confirmedContent: AssetDescriptor? { state.withLock { $0.confirmed } }

    /// An asset without a file or content.
    static var withoutContent: CKAsset { CKAsset(State()) }

    /// The client's file. For a fetched asset, a private copy, which the client may change, delete, or keep by moving
    /// it.
    ///
    /// The copy exists when the fetch completes, whether or not the record is kept. It stays at its path as long as an
    /// asset of the fetched record exists, and ``Stratus/Options/assetCopySeconds`` longer. Nil if the content was not
    /// delivered, and after decoding. If a content is missing or damaged on the server, the fetch of its record fails
    /// with `assetNotAvailable`. Where that error cannot be reported, as in the events of ``CKSyncEngine``, this is
    /// nil.
    open var fileURL: URL? {
        let known = state.value
        if let file = known.upload { return file }
        let copy: URL
        if let made = known.copy {
            copy = made
            if known.isShown { return copy }
        } else {
            // The copy failed during the fetch, or the asset is part of a share's metadata.
            guard let content = known.confirmed, let download = known.download, let source = known.source,
                let made = try? download.makeCopy(of: content, at: source)
            else { return nil }
            copy = adopt(made)
        }
        known.download?.show(copy)
        state.withLock { $0.isShown = true }
        return copy
    }

    /// The content to copy before the client gets the record, or nil if there is nothing to copy.
    var wanted: (content: AssetDescriptor, place: Place)? {
        state.withLock { state in
            guard state.upload == nil, state.copy == nil, state.download != nil, let source = state.source,
                let content = state.confirmed
            else { return nil }
            return (content, source)
        }
    }

    /// Takes the private copy of `wanted`. The first of several copies stays.
    @discardableResult
    func adopt(_ made: URL) -> URL {
        let (kept, download) = state.withLock { state in
            let kept = state.copy ?? made
            state.copy = kept
            return (kept, state.download)
        }
        if kept != made {
            // Copied without the lock, by threads that asked at the same time.
            try? FileManager.default.removeItem(at: made)
        } else {
            download?.take(made)
        }
        return kept
    }

    /// Lets the asset be copied again from a field that holds it, if it has no file, or only the file of the operation
    /// that uploaded it.
    func download(from place: Place, by download: any AssetDownload) {
        state.withLock { state in
            let isWithoutFile = state.upload == nil && state.download == nil
            guard state.confirmed != nil, isWithoutFile || state.isKeptUpload else { return }
            (state.upload, state.isKeptUpload) = (nil, false)
            (state.download, state.source, state.copy, state.isShown) = (download, place, nil, false)
        }
    }

    /// Whether the asset comes from a file, if it comes from a URL at all.
    var isOfFile: Bool { state.withLock { $0.upload?.isFileURL ?? true } }

    /// Notes that the server has stored this asset's content in a field.
    func confirm(_ content: AssetDescriptor, at place: Place) {
        state.withLock { ($0.confirmed, $0.confirmedPlace) = (content, place) }
    }

    /// What a save sends for this asset. If another record's content must be uploaded, this creates the private copy
    /// and blocks the thread.
    /// - Parameters:
    ///   - place: The field that holds the asset.
    ///   - isChanged: Whether the client has set the field since the record was fetched or saved.
    /// - Returns: A file to upload, or the content that the server is said to have.
    func claim(at place: Place, isChanged: Bool) -> ClientAsset {
        let (upload, confirmed, known) = state.withLock { ($0.upload, $0.confirmed, $0.confirmedPlace) }
        if let confirmed, known == place || known == nil, !isChanged || upload == nil { return .content(confirmed) }
        // An asset from another field or record is uploaded again (R-14).
        guard let file = upload ?? fileURL else { return confirmed.map { .content($0) } ?? .missing }
        return .file(path: file.path)
    }

    open override var description: String {
        let (file, size) = state.withLock { state in
            (
                state.upload ?? (state.isShown ? state.copy : nil),
                state.confirmed?.byteCount ?? state.apple?.byteCount
            )
        }
        return "<CKAsset: \(file?.path ?? "no file")\(size.map { ", \($0) bytes" } ?? "")>"
    }

    // MARK: Archiving

    /// True.
    open class var supportsSecureCoding: Bool { true }

    open override class func classFallbacksForKeyedArchiver() -> [String] { ["CKAsset"] }

    /// Archives the content that the server has confirmed, and no path.
    open func encode(with coder: NSCoder) {
        let (confirmed, apple) = state.withLock { ($0.confirmed, $0.apple) }
        if coder.isOfApple || apple != nil {
            (apple ?? confirmed.map { AppleContent(byteCount: $0.byteCount) })?.encode(with: coder)
        }
        guard let content = confirmed else { return }
        coder.encode(Data(content.digest) as NSData, forKey: CoderKey.assetDigest)
        coder.encode(content.byteCount, forKey: CoderKey.assetByteCount)
    }

    /// Decodes an asset, without a file. The archive's content counts only if the server's record has it too. Returns
    /// nil if the archive is damaged.
    public required init?(coder: NSCoder) {
        // An archive in Apple's format has the size twice.
        let apple = AppleContent(coder: coder)
        var decoded = State()
        if let digest = coder.decodeData(forKey: CoderKey.assetDigest).map({ [UInt8]($0) }) {
            let byteCount = coder.decodeNumber(forKey: CoderKey.assetByteCount)
            guard digest.count == 32, byteCount >= 0 else { return nil }
            decoded.confirmed = AssetDescriptor(digest: digest, byteCount: byteCount)
        } else {
            decoded.apple = apple
        }
        state = Locked(decoded)
        super.init()
    }

    // Assets in archives of Apple's systems.
    //
    // The content is on Apple's servers and the file on another device. Neither is available here, so the asset cannot
    // be saved. What is known about the content is kept and archived again. The path of the file is not read (X-27).

    /// What Apple's system knows about a content.
    struct AppleContent: Hashable, Sendable {
        var byteCount: Int64?
        var paddedByteCount: Int64?
        var signature: Data?
        var referenceSignature: Data?
        var uuid: String?
    }
}

extension CKAsset.AppleContent {
    private static let hasSize = CoderKey.Apple.assetHasSize

    /// A content with a known size only.
    init(byteCount: Int64) { self.byteCount = byteCount }

    /// Returns nil if the archive has nothing about a content.
    init?(coder: NSCoder) {
        let size = coder.decodeNumber(forKey: CoderKey.Apple.assetSize)
        let paddedSize = coder.decodeNumber(forKey: CoderKey.Apple.assetPaddedSize)
        let hasSize = coder.decodeFlag(forKey: Self.hasSize) || size != 0
        byteCount = hasSize && size >= 0 ? size : nil
        paddedByteCount = paddedSize > 0 ? paddedSize : nil
        signature = coder.decodeData(forKey: CoderKey.Apple.assetSignature)
        referenceSignature = coder.decodeData(forKey: CoderKey.Apple.assetReferenceSignature)
        uuid = coder.decodeText(forKey: CoderKey.Apple.assetUUID)
        if self == CKAsset.AppleContent() { return nil }
    }

    func encode(with coder: NSCoder) {
        coder.encode(byteCount != nil, forKey: Self.hasSize)
        coder.encode(byteCount ?? 0, forKey: CoderKey.Apple.assetSize)
        coder.encode(paddedByteCount ?? 0, forKey: CoderKey.Apple.assetPaddedSize)
        coder.encode(signature.map { $0 as NSData }, forKey: CoderKey.Apple.assetSignature)
        coder.encode(referenceSignature.map { $0 as NSData }, forKey: CoderKey.Apple.assetReferenceSignature)
        coder.encodeText(uuid, forKey: CoderKey.Apple.assetUUID)
    }
}
