// Which database the command line means: the private one of an account, or the public one, in a container.

import StratusCloud
import StratusModel
import StratusRecords

struct DatabaseChoice {
    let container: String
    /// The owner; of the public database, who acts in it unless somebody else is named. Named by their user name they need
    /// no account any more.
    let owner: PersonAddress
    let isPublic: Bool
    /// The zone, where an address names it.
    let zone: String?

    /// The owner's account, or nil.
    func findOwner(in reader: RecordReader) throws -> StratusModel.Account? { try owner.account(in: reader) }

    /// The database of the account that was found.
    ///
    /// Throws `notFound` when none was, and the owner is not named by their user name.
    func database(of account: StratusModel.Account?) throws(ToolError) -> DatabaseID {
        if isPublic { return DatabaseID(container: ContainerName(container), owner: nil, scope: .public) }
        guard let user = account?.userName ?? owner.userName else { throw noAccount }
        return DatabaseID(container: ContainerName(container), owner: user, scope: .private)
    }

    var noAccount: ToolError {
        ToolError(
            .notFound,
            "The store has no such account: choose one with --owner, or make it with 'stratus accounts create'.",
            ["owner": owner.text])
    }
}
