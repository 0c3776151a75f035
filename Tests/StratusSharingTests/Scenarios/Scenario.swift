// A scenario: a story of people who share, line by line, with what each may and may not do at that point.
//
//     people owner reader                         who there is; the first line
//     zone Docs of owner                          creates a zone; the records named next are in it
//     owner: create folder                        must succeed
//     owner: create note in folder
//     owner: share folder as S
//     owner: invite reader to S read-only
//     reader: accept S
//     reader may read folder note                 succeeds, for each of the names
//     reader may not change note : permissionFailure
//     # a comment
//
// Steps and attempts have the same vocabulary: see `Deed`. A name that was never created is looked for in the zone
// named last, so a scenario can try missing records.

import StratusKit
import StratusSharingSupport

/// One thing that a person does or tries.
enum Deed: Hashable, Sendable {
    case read(String)
    /// The zone, by itself and in the list.
    case see(String)
    case change(String)
    case create(String, under: String?)
    /// Under another record, or out of everything.
    case move(String, under: String?)
    case delete(String)
    /// The root, or nil for the zone named last; and the name of the share.
    case share(String?, as: String)
    case invite(String, to: String, CKShare.ParticipantPermission, CKShare.ParticipantRole)
    case remove(String, from: String)
    case permit(String, of: String, CKShare.ParticipantPermission)
    /// What everyone with the URL may do.
    case publish(String, CKShare.ParticipantPermission)
    case rename(String)
    /// Deletes the share's record: its owner stops it, others leave it.
    case leave(String)
    case accept(String)
    /// Asks for access.
    case ask(String)
    /// Whether others may request access.
    case allowRequests(String, Bool)
    case deny(String, of: String)
    case block(String, of: String)
    case unblock(String, of: String)
    case drop(String)
}

/// One line of a scenario.
struct ScenarioLine: Sendable {
    enum Content: Hashable, Sendable {
        case zone(String, owner: String)
        /// The host suspends an account, or restores it.
        case standing(String, isGood: Bool)
        /// Must succeed.
        case deed(Deed, by: String)
        /// Must succeed for each, or be refused for each, with the code.
        case expectation([Deed], by: String, Expected)
    }

    enum Expected: Hashable, Sendable {
        case may
        case mayNot(CKError.Code)

        func isMet(by outcome: Outcome) -> Bool {
            switch self {
            case .may: outcome == .done
            case .mayNot(let code): outcome == .refused(code)
            }
        }
    }

    var number: Int
    var text: String
    var content: Content
}

/// A scenario as in its file.
struct Scenario: Sendable {
    var file: String
    var people: [String] = []
    var lines: [ScenarioLine] = []
}

/// A line with an unknown statement, or a story that cannot continue.
struct ScenarioError: Error, CustomStringConvertible {
    let file: String
    let line: Int
    let message: String

    var description: String { "\(file):\(line): \(message)" }
}
