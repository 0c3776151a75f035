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
