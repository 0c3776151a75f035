// Compares the ledger with contents in the store. Contents are in no snapshot, so what two readings disagree about is
// read again, in a later snapshot, before it is a finding. That is enough: no upload has the number of another, so a
// content that is gone, or that the ledger no longer names, never comes back.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

extension AssetVerifier {
    /// Reports contents of the ledger that are missing or damaged, and contents that the ledger does not name.
    func verify(
        _ stored: StoredContents, _ readsContents: Bool, _ meter: WorkMeter, _ report: inout VerifierReport<AssetFault>
    ) throws {
        try AssetLedger.visitPages(in: engine) { page in
            for (key, entry) in page {
                if let fault = try fault(of: key, entry, stored, readsContents) { report.note(fault) }
                meter.add(Int(summable: entry.byteCount))
            }
        }
        try stored.visitNames(in: .everything) { names in
            try noteStrays(names, stored, &report)
            return .next
        }
    }

    private func fault(
        of key: AssetKey, _ entry: AssetEntry, _ stored: StoredContents, _ readsContents: Bool
    ) throws -> AssetFinding? {
        guard let upload = entry.upload else { return .missing(key) }
        let name = StoredContents.name(of: key, upload)
        let isWhole: Bool
        if try stored.contents.part(0, of: name) == nil {
            // Records may have lost it since the ledger was read.
            let current = try engine.read { try AssetLedger.entry(of: key, in: $0) }
            return current?.upload == upload ? .missing(key) : nil
        } else if readsContents {
            var byteCount: Int64 = 0
            let digest = try stored.read(name) { byteCount += Int64($0.count) }
            isWhole = digest == key.digest && byteCount == entry.byteCount
        } else {
            isWhole = try stored.hasLength(entry.byteCount, name)
        }
        if isWhole { return nil }
        let current = try engine.read { try AssetLedger.entry(of: key, in: $0) }
        return current?.upload == upload ? .damaged(key) : nil
    }

    private func noteStrays(
        _ names: [[UInt8]], _ stored: StoredContents, _ report: inout VerifierReport<AssetFault>
    ) throws {
        var uploads: [ContentKeyParts] = []
        for name in names {
            if let upload = try? GlobalKeys.readContentKey(name.span) {
                uploads.append(upload)
            } else if (try? GlobalKeys.readOperationKey(name.span)) == nil {
                report.note(.foreign(path: Hex.text(name)))
            }
        }
        // Since the names were read, a content may have been removed, or a commit may have named it.
        let suspects = try unnamed(uploads).filter { try stored.contents.part(0, of: GlobalKeys.content($0)) != nil }
        for upload in try unnamed(suspects) { report.note(.orphaned(upload.assetKey)) }
    }

    /// The contents that the ledger does not name now.
    private func unnamed(_ uploads: [ContentKeyParts]) throws -> [ContentKeyParts] {
        guard !uploads.isEmpty else { return [] }
        let found = try engine.read { try $0.store.values(forKeys: uploads.map(\.assetKey.ledgerKey)) }
        return try zip(uploads, found).filter { upload, value in
            try value.flatMap { try AssetEntry(decoding: $0.span).upload } != upload.upload
        }.map { $0.0 }
    }
}
