// Assets as hosts ask for them: collecting, verifying.

package import StratusModel
import StratusRecords

extension CloudService {
    /// Notes that no client's object stands for these copies any more: they may go when they have waited, and those that
    /// no client was told of without a wait. Returns at once.
    package func releaseCopies(_ paths: [String], unseen: [String] = []) {
        assets?.releaseCopies(paths, unseen: unseen)
    }

    /// Whose the assets of a database are: its owner's, or the app's for a public one.
    package static func assetOwner(of database: DatabaseID) -> UserName {
        database.owner ?? AssetStore.publicOwner(of: database.container)
    }

    /// Removes contents that lost their last record, or never got one, in this session, and step by step those that
    /// earlier sessions left. To be called again and again in the background.
    ///
    /// Returns how many were removed. Throws as `AssetCollector.collect`.
    @discardableResult
    package func collectAssets(shouldContinue: () -> Bool = { true }) throws -> Int {
        guard let assets else { return 0 }
        return try AssetCollector(engine: engine, store: assets).collect(shouldContinue: shouldContinue)
    }

    /// Looks at all files of assets and removes those that no record holds, which a crash may have left.
    /// It is done in steps: the report says where to go on.
    package func sweepAssets(
        from position: AssetSweepPosition? = nil, shouldContinue: (AssetSweepReport) -> Bool = { _ in true }
    ) throws -> AssetSweepReport {
        guard let assets else { return AssetSweepReport() }
        return try AssetCollector(engine: engine, store: assets).sweep(from: position, shouldContinue: shouldContinue)
    }

    /// What is not as it should be with the assets: files against ledger, ledger against records. Of each kind the first
    /// `VerifierFindings.maximumCount` are told.
    package func verifyAssets(readsContents: Bool = true) throws -> [AssetFinding] {
        guard let assets else { return [] }
        let verifier = AssetVerifier(engine: engine, store: assets)
        let files = try verifier.verify(readsContents: readsContents)
        return try verifier.verifyCounts(addingTo: files) { Self.assetOwner(of: $0) }.findings
    }
}

extension ResolvedZone {
    /// Whose the zone's records and assets are, whoever writes them.
    var assetOwner: UserName { CloudService.assetOwner(of: id.database) }
}
