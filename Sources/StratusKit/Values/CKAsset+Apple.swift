// What archives of Apple's systems say of an asset.
//
// Its content is on Apple's servers, and its file on another device: neither can be had here, so that the asset cannot be
// saved. What is known of the content is carried, and stands in archives of the asset again. The path of the file is not
// read.

import Foundation

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
        func bytes(_ key: String) -> Data? {
            coder.decodeValue(of: NSData.self, forKey: key).map { Data(referencing: $0) }
        }
        let size = coder.decodeNumber(forKey: CoderKey.Apple.assetSize)
        let paddedSize = coder.decodeNumber(forKey: CoderKey.Apple.assetPaddedSize)
        let hasSize = coder.decodeFlag(forKey: Self.hasSize) || size != 0
        byteCount = hasSize && size >= 0 ? size : nil
        paddedByteCount = paddedSize > 0 ? paddedSize : nil
        signature = bytes(CoderKey.Apple.assetSignature)
        referenceSignature = bytes(CoderKey.Apple.assetReferenceSignature)
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
