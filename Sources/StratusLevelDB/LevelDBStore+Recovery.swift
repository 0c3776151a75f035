// A store that takes no more writes is opened again in place, without its process being started again.
//
// LevelDB may go on acknowledging after a failed write, so the lane takes nothing more until LevelDB is opened again: what its
// log holds is read back, and the commit in doubt is there or not. The steps, which the caller makes one after another:
//   1. `checkRoom`: a file as large as what opening writes is written, synced and removed. Where that fails the store stays open
//      for reading, as it is.
//   2. `closeToReopen`: readers get a bounded time. The result says what must be found when the store is opened again.
//   3. `open(at:options:continuing:)`: a store whose last write is older than the last acknowledged one is refused.

package import StratusStore

extension LevelDBStore {
    private static let probeName = "STRATUS.room"
    private static let chunkByteCount = 1 << 20
    /// How much of tables and MANIFEST opening writes besides what it reads from logs.
    private static let spareByteCount = 1 << 20

    /// Why the store takes no more transactions; nil while it does.
    package var failure: StoreError? { lane.failureError }

    /// Writes, syncs and removes a file as large as what opening the store writes: its logs become tables, and it gets a new
    /// MANIFEST. Does nothing where the directory is no longer at its path: what is there is looked at by opening it.
    ///
    /// Throws `.diskFull`, `.inputOutput` and `.notPermitted`, with nothing left behind.
    package func checkRoom() throws {
        guard directory.lock.displacement() == nil else { return }
        let path = directory.place.directory
        do {
            let probe = "\(path)/\(Self.probeName)"
            // One that a process that was killed has left.
            try FileSystem.remove(probe)
            var remaining = Self.spareByteCount
            for name in try FileSystem.names(in: path) {
                switch StoreFileName(name) {
                case .log, .manifest: remaining += try FileSystem.status("\(path)/\(name)")?.byteCount ?? 0
                default: continue
                }
            }
            do {
                try FileSystem.create(probe, [])
                while remaining > 0 {
                    let count = min(remaining, Self.chunkByteCount)
                    // Not zeros, of which a file system may keep none.
                    try FileSystem.append([UInt8](repeating: 0x5A, count: count), to: probe)
                    remaining -= count
                }
                try FileSystem.sync(probe)
                try FileSystem.remove(probe)
            } catch {
                try? FileSystem.remove(probe)
                throw error
            }
        } catch { throw directory.place.asGiven(error) }
    }

    /// Closes the store. Readers that are in may go on for `readerSeconds`; from then on their reads throw `.unavailable`, and
    /// they are waited for until they have left. It must not be called from a body.
    package func closeToReopen(readerSeconds: Double) -> StoreContinuation {
        gate.abandonReaders(afterSeconds: readerSeconds)
        close()
        return lane.continuation
    }
}
