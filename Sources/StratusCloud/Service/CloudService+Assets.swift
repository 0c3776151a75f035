// The host's calls about assets: release of copies, collection, verification.

package import StratusModel
import StratusRecords

extension CloudService {
    /// Notes that no client's object refers to these copies any longer. They are removed after a wait, and `unseen`,
    /// whose paths no client knows, without a wait. Returns at once.
    package func releaseCopies(_ paths: [String], unseen: [String] = []) {
        assets?.releaseCopies(paths, unseen: unseen)
    }

    /// The owner of a database's assets: its owner, or the app for a public one.
    package static func assetOwner(of database: DatabaseID) -> UserName {
        database.owner ?? AssetStore.publicOwner(of: database.container)
    }

    /// Removes contents that lost their last record, or never got one, in this session, and step by step those that
    /// earlier sessions left. Call it repeatedly in the background.
    ///
    /// Returns how many were removed. Throws like `AssetCollector.collect`.
    @discardableResult
    package func collectAssets(shouldContinue: () -> Bool = { true }) throws -> Int {
        guard let assets else { return 0 }
        return try AssetCollector(engine: engine, store: assets).collect(shouldContinue: shouldContinue)
    }

    /// What is wrong with the assets: files against ledger, ledger against records. Has the first
    /// `VerifierReport.maximumCount` findings of each kind.
    package func verifyAssets(readsContents: Bool = true) throws -> [AssetFinding] {
        guard let assets else { return [] }
        let verifier = AssetVerifier(engine: engine, store: assets)
        let files = try verifier.verify(readsContents: readsContents)
        return try verifier.verifyCounts(addingTo: files) { Self.assetOwner(of: $0) }.findings
    }
}

extension ResolvedZone {
    /// The owner of the zone's records and assets.
    var assetOwner: UserName { CloudService.assetOwner(of: id.database) }
}
