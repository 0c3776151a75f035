// The engine's files of an opened store.

import StratusKit
import StratusRecords
import StratusStore

extension StoreSession {
    func figures() throws -> StoreFiles.Figures { try files.figures() }

    /// About how many bytes of files a range takes; what is still in memory is not counted.
    func approximateByteCount(of range: KeyRange) throws -> Int { try files.approximateByteCount(of: range) }

    /// Gives the room of deleted entries back, slice by slice of the keys, here or by the host that has the store. Returns
    /// about how large the files were before, and are after. `progress` is told now and then how many bytes of files were
    /// looked at, and of how many.
    ///
    /// Throws `interrupted` where the verb was asked to stop: what is compacted stays. Else what has failed the engine's
    /// background work: `corruption` names where damage lies.
    func compact(progress: (_ done: Int, _ total: Int?) -> Void) throws -> (before: Int, after: Int) {
        if let served {
            let compacted = try served.compact(
                progress: { progress($0.doneCount, $0.totalCount) }, isStopping: { Interruption.isRequested })
            guard let files = compacted else { throw Interruption.toGoOn }
            return (files.byteCountBefore, files.byteCountAfter)
        }
        return try files.compact { done, total in
            progress(done, total)
            // Behind the last slice nothing is left to go on with.
            if done < total { try Interruption.safePoint() }
        }
    }

    /// Reads every entry and log against its checksum. Returns how many entries there are, and each damage.
    func verifyChecksums(
        progress: (_ byteCount: Int, _ total: Int) -> Void
    ) throws -> (entryCount: Int, damages: [RecordsError]) {
        try files.verifyChecksums(progress: progress)
    }
}
