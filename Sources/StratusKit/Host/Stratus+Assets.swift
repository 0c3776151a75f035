// The content of one asset, for a record that was fetched without it.

import Foundation
import StratusCloud
import StratusModel
import StratusStore

extension Stratus {
    /// The content of one asset of a record, with the rights of the account whose database it is: for a record that was
    /// fetched with `desiredKeys` that leave the asset out. Nothing else of the record is copied.
    ///
    /// The file is a private copy. It stays as long as the asset, and ``Options/assetCopySeconds`` longer: move it to
    /// keep it. Whether the person may read the record is decided here and now, whatever was fetched before.
    ///
    /// - Parameters:
    ///   - key: The field.
    ///   - index: Which of a list's assets; 0 for a field that holds one.
    ///   - recordID: The record, as the person names it.
    ///   - database: A database of one of this store's containers.
    /// - Returns: The asset with its file; nil where the field holds no asset, or no list that is so long.
    /// - Throws: `CKError` as fetching the record does: `unknownItem` where it is not there or the person does not see it,
    ///   `assetNotAvailable` where the content is missing or damaged, `notAuthenticated`, `zoneNotFound`, a planned fault;
    ///   ``StratusError`` with `invalidArgument` for a database of another store.
    public func asset(
        _ key: CKRecord.FieldKey, at index: Int = 0, of recordID: CKRecord.ID, in database: CKDatabase
    ) throws -> CKAsset? {
        guard database.scope.captured.openSession === session else {
            throw StratusError(.invalidArgument, "The database is another store's: ask that store for the asset.")
        }
        let context = RequestContext(
            session: session, caller: database.scope.caller(in: session), database: database.selector,
            callbacks: CallbackQueue(pool: nil))
        do {
            return try context.asset(key, at: index, of: recordID)
        } catch let error as CloudError {
            throw context.clientError(error)
        }
    }
}

extension RequestContext {
    /// An asset with its file, without the record's other fields.
    /// - Throws: `CloudError`.
    fileprivate func asset(_ key: CKRecord.FieldKey, at index: Int, of recordID: CKRecord.ID) throws -> CKAsset? {
        try ContainerScope.check(caller.container)
        // Held from before the record is read, so that what it names cannot go before it is copied.
        let hold = try server.holdAssets()
        let request = FetchRecordsRequest(addresses: [recordID.address], desiredKeys: [key])
        guard let answer = try server.answer(request, as: caller, in: database).records.first else { return nil }
        let assets = record(try answer.get()).state.value.assets.filter { $0.key == key }.map(\.asset)
        guard assets.indices.contains(index), let (content, place) = assets[index].wanted else { return nil }
        let wanted = [HeldAsset(content, in: place.key, of: place.record)]
        guard
            let copy = try server.copyAssets(wanted, as: caller, in: database, under: hold, shouldContinue: { true })
                .first
        else { return nil }
        assets[index].adopt(URL(fileURLWithPath: try copy.get()))
        return assets[index]
    }
}
