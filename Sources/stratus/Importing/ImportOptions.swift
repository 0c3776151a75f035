// What an import is asked to do.

import StratusModel

struct ImportOptions: Sendable {
    /// The directory as the command line names it.
    var directory: [UInt8]
    /// The name of the imported tree: the label and the record name of its top.
    var topName: FileName
    /// Files up to this size are hashed, in bytes.
    var digestLimitByteCount: Int64 = 64 << 10
    /// Whether files whose size and date are as stored are hashed again.
    var readsUnchangedFiles = false
    /// Whether the records of files that are gone from the disk are deleted.
    var deletesGone = false
    /// Whether the tree may come from another directory than at the import before.
    var acceptsNewOrigin = false
    /// How many records are saved or deleted in one commit.
    var commitRecordCount = 400
}
