// What the tool itself refuses. Errors of the store and the record layer come as they are; see `ErrorReport`.

import StratusKit
import StratusModel

/// An error of the tool: an open code, a message that says how to mend it, the variables as fields.
struct ToolError: Error, Sendable {
    struct Code: Hashable, Sendable {
        let name: String
        let exit: ExitStatus

        /// There is no record, zone or file of this name.
        static let notFound = Code(name: "notFound", exit: .notFound)
        /// What lies at a path is something else than a store.
        static let notAStore = Code(name: "notAStore", exit: .notOpened)
        /// A path of names leads to several records.
        static let ambiguous = Code(name: "ambiguous", exit: .failure)
        /// The request would do what was not asked for.
        static let refused = Code(name: "refused", exit: .failure)
        /// An argument makes no sense.
        static let usage = Code(name: "usage", exit: .usage)
        /// The results cannot be written.
        static let outputFailed = Code(name: "outputFailed", exit: .failure)
        /// Nobody reads the results any more.
        static let pipeBroken = Code(name: "pipeBroken", exit: .failure)
        /// The verb was asked to stop before its end.
        static let interrupted = Code(name: "interrupted", exit: .interrupted)
        /// A check found something.
        static let damaged = Code(name: "damaged", exit: .failure)
    }

    let code: Code
    let message: String
    let fields: [String: String]

    init(_ code: Code, _ message: String, _ fields: [String: String] = [:]) {
        self.code = code
        self.message = message
        self.fields = fields
    }
}

// The exit codes. Scripts rely on them: they never change.

enum ExitStatus: Int32, Hashable, Sendable, CaseIterable {
    case success = 0
    case failure = 1
    case usage = 2
    case notFound = 3
    case notOpened = 4
    case corruption = 5
    /// As shells tell of SIGINT.
    case interrupted = 130

    /// What the code says, for the help.
    var meaning: String {
        switch self {
        case .success: "done"
        case .failure: "refused or failed: a rule stands against it, verify found something, a write failed"
        case .usage: "the command line is wrong"
        case .notFound: "no such record, zone, directory or rule"
        case .notOpened: "the store cannot be opened: not a store, held by a process, of a newer format, not permitted"
        case .corruption: "bytes of the store are not what was written"
        case .interrupted: "interrupted: what is done stays, and the same again goes on"
        }
    }
}

// A request through CloudKit's face that failed for single items of it.

/// Nothing was changed, because of these records. Records that are fine themselves are not among them.
struct ItemsRefused: Error {
    let errors: [RecordName: CKError]
}
