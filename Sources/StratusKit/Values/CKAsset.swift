// A file as the value of a field.
//
// An asset comes into being in three ways: from a file of the client's, which a save uploads; from the server, when its
// content is known and a private copy is made before the client gets the record; and from an archive, when there is no
// file, whatever the archive says (X-27): a path that came from outside must never be read.

public import Foundation
import StratusCloud
import StratusModel
import StratusStore

/// Where the private copies of one record's assets come from, and where they are remembered.
protocol AssetDownload: Sendable {
    /// Makes a private copy of a content that a field holds, or throws when the content cannot be had.
    func makeCopy(of content: AssetDescriptor, at place: CKAsset.Place) throws -> URL
    /// Remembers a copy that was made for an asset, which nobody was told of yet.
    func take(_ copy: URL)
    /// Notes that a client was told of a copy.
    func show(_ copy: URL)
}

/// A file that a record owns.
open class CKAsset: NSObject, NSSecureCoding, @unchecked Sendable {
    // Unchecked because a class that can be inherited from cannot be checked. Its own state is locked; a subclass, such as
    // one that writes the file it is made of, answers for what it adds.

    /// The field whose content an asset stands for, as the server has confirmed. Records of one name in two databases are
    /// two places: what one of them holds has to be uploaded to the other.
    struct Place: Hashable, Sendable {
        let record: RecordAddress
        let key: String
        /// The database, and for data that every account has of its own the account; nil where that is not known.
        let origin: RecordOrigin?

        init(record: RecordAddress, key: String, in origin: RecordOrigin?) {
            self.record = record
            self.key = key
            var origin = origin
            if origin?.database == .public { origin?.account = nil }
            self.origin = origin
        }
    }

    /// What the server is known to have for this asset.
    struct Confirmed: Hashable, Sendable {
        var content: AssetDescriptor
        /// Nil when the knowledge comes from an archive.
        var place: Place?
    }

    fileprivate struct State: Sendable {
        /// The client's own file.
        var upload: URL?
        /// Whether that file is the copy of an operation, which goes with it.
        var isKeptUpload = false
        var confirmed: Confirmed?
        /// What Apple's system said of the content.
        var apple: AppleContent?
        /// Nil where the content is not handed out.
        var download: (any AssetDownload)?
        /// From where it was fetched: a copy that is saved elsewhere is another upload.
        var source: Place?
        /// The private copy that was made.
        var copy: URL?
        /// Whether the client was told of the copy.
        var isShown = false
    }

    private let state: Locked<State>

    private init(_ state: State) {
        self.state = Locked(state)
        super.init()
    }

    /// An asset of a file, which need not exist before the record is saved (C-10).
    ///
    /// The URL of anything else is a mistake: setting the asset on a record fails the record's save (X-25).
    public init(fileURL: URL) {
        state = Locked(State(upload: fileURL))
        super.init()
    }

    /// An asset of a file that an operation keeps until it has ended.
    convenience init(keptFile path: String) {
        self.init(State(upload: URL(fileURLWithPath: path), isKeptUpload: true))
    }

    /// An asset of the server's.
    /// - Parameters:
    ///   - content: What the server has.
    ///   - place: The field that holds it.
    ///   - download: Nil where the content is not handed out, as in the record of a conflict (S-07).
    convenience init(_ content: AssetDescriptor, at place: Place, download: (any AssetDownload)?) {
        self.init(State(confirmed: Confirmed(content: content, place: place), download: download, source: place))
    }

    /// An asset of which an archive says what the server has.
    convenience init(archived content: AssetDescriptor) {
        self.init(State(confirmed: Confirmed(content: content, place: nil)))
    }

    /// An asset of Apple's, whose content is not here.
    convenience init(apple content: AppleContent) {
        self.init(State(apple: content))
    }

    /// What Apple's system said of the content, where the asset is from there.
    var appleContent: AppleContent? { state.withLock { $0.apple } }

    /// What the server is known to have for this asset.
    var confirmedContent: AssetDescriptor? { state.withLock { $0.confirmed?.content } }

    /// An asset without file and content.
    static var withoutContent: CKAsset { CKAsset(State()) }

    /// The client's file, or for a fetched asset a private copy, which the client may change, delete, or keep by moving it
    /// away. It is there when the fetch completes, whatever becomes of the record. Where it lies it stays as long as an
    /// asset of the fetched record, and ``Stratus/Options/assetCopySeconds`` longer. Nil where the content was not
    /// delivered, and after decoding. A content that is missing or damaged on the server fails the fetch of its record with
    /// `assetNotAvailable`; where there is no place for that error, as in the events of ``CKSyncEngine``, this is nil.
    open var fileURL: URL? {
        let known = state.value
        if let file = known.upload { return file }
        let copy: URL
        if let made = known.copy {
            copy = made
            if known.isShown { return copy }
        } else {
            // What could not be copied when it was fetched, or comes with what is told of a share.
            guard let content = known.confirmed?.content, let download = known.download, let source = known.source,
                let made = try? download.makeCopy(of: content, at: source)
            else { return nil }
            copy = adopt(made)
        }
        known.download?.show(copy)
        state.withLock { $0.isShown = true }
        return copy
    }

    /// The content that is to be copied before the client gets the record; nil where there is nothing to be done.
    var wanted: (content: AssetDescriptor, place: Place)? {
        state.withLock { state in
            guard state.upload == nil, state.copy == nil, state.download != nil, let source = state.source,
                let content = state.confirmed?.content
            else { return nil }
            return (content, source)
        }
    }

    /// Takes the private copy that was made of `wanted`. Of several copies the first stays.
    @discardableResult
    func adopt(_ made: URL) -> URL {
        let (kept, download) = state.withLock { state in
            let kept = state.copy ?? made
            state.copy = kept
            return (kept, state.download)
        }
        if kept != made {
            // Made without the lock, by threads that asked at the same time.
            try? FileManager.default.removeItem(at: made)
        } else {
            download?.take(made)
        }
        return kept
    }

    /// Lets the asset be copied again from a field that holds it, where it came without a file, or with one that goes with
    /// the operation that has uploaded it.
    func download(from place: Place, by download: any AssetDownload) {
        state.withLock { state in
            let isWithoutFile = state.upload == nil && state.download == nil
            guard state.confirmed != nil, isWithoutFile || state.isKeptUpload else { return }
            (state.upload, state.isKeptUpload) = (nil, false)
            (state.download, state.source, state.copy, state.isShown) = (download, place, nil, false)
        }
    }

    /// Whether the asset comes from a file, if from a URL at all.
    var isOfFile: Bool { state.withLock { $0.upload?.isFileURL ?? true } }

    /// Notes that the server has stored this asset's content in a field.
    func confirm(_ content: AssetDescriptor, at place: Place) {
        state.withLock { $0.confirmed = Confirmed(content: content, place: place) }
    }

    /// What a save says of this asset. Makes the private copy where another record's content is to be uploaded, so it
    /// blocks its thread.
    /// - Parameters:
    ///   - place: The field that holds it.
    ///   - isChanged: Whether the client has set the field since the record was fetched or saved.
    /// - Returns: A file to take in, or the content that the server is said to have.
    func claim(at place: Place, isChanged: Bool) -> ClientAsset {
        let (upload, confirmed) = state.withLock { ($0.upload, $0.confirmed) }
        if let confirmed, confirmed.place == place || confirmed.place == nil, !isChanged || upload == nil {
            return .content(confirmed.content)
        }
        // From another field or record it is another upload (R-14).
        guard let file = upload ?? fileURL else { return confirmed.map { .content($0.content) } ?? .missing }
        return .file(path: file.path)
    }

    open override var description: String {
        let (file, size) = state.withLock { state in
            (
                state.upload ?? (state.isShown ? state.copy : nil),
                state.confirmed?.content.byteCount ?? state.apple?.byteCount
            )
        }
        return "<CKAsset: \(file?.path ?? "no file")\(size.map { ", \($0) bytes" } ?? "")>"
    }

    // MARK: Archiving

    /// True.
    open class var supportsSecureCoding: Bool { true }

    open override class func classFallbacksForKeyedArchiver() -> [String] { ["CKAsset"] }

    /// Archives what the server has confirmed, and no path.
    open func encode(with coder: NSCoder) {
        let (confirmed, apple) = state.withLock { ($0.confirmed?.content, $0.apple) }
        if coder.isOfApple || apple != nil {
            (apple ?? confirmed.map { AppleContent(byteCount: $0.byteCount) })?.encode(with: coder)
        }
        guard let content = confirmed else { return }
        coder.encode(Data(content.digest) as NSData, forKey: CoderKey.assetDigest)
        coder.encode(content.byteCount, forKey: CoderKey.assetByteCount)
    }

    /// An asset without a file. What the archive says of its content counts only where the server's record says so too.
    /// Nil where that is damaged.
    public required init?(coder: NSCoder) {
        guard let decoded = State(coder: coder) else { return nil }
        state = Locked(decoded)
        super.init()
    }
}

extension CKAsset.State {
    fileprivate init?(coder: NSCoder) {
        let digest = coder.decodeData(forKey: CoderKey.assetDigest).map { [UInt8]($0) }
        let byteCount = coder.decodeNumber(forKey: CoderKey.assetByteCount)
        // What is archived in Apple's format says the size twice.
        let appleContent = CKAsset.AppleContent(coder: coder)
        guard let digest else {
            apple = appleContent
            return
        }
        guard digest.count == 32, byteCount >= 0 else { return nil }
        let content = AssetDescriptor(digest: digest, byteCount: byteCount)
        confirmed = CKAsset.Confirmed(content: content, place: nil)
    }
}

// What archives of Apple's systems say of an asset.
//
// Its content is on Apple's servers, and its file on another device: neither can be had here, so that the asset cannot be
// saved. What is known of the content is carried, and stands in archives of the asset again. The path of the file is not
// read (X-27).

extension CKAsset {
    /// What Apple's system knows of a content.
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

    /// A content of which the size is known.
    init(byteCount: Int64) { self.byteCount = byteCount }

    /// Nil where the archive says nothing of a content.
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
