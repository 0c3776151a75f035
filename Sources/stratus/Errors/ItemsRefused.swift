// A request through CloudKit's face that failed for single items of it.

import StratusKit
import StratusModel

/// Nothing was changed, because of these records. Records that are fine themselves are not among them.
struct ItemsRefused: Error {
    let errors: [RecordName: CKError]
}
