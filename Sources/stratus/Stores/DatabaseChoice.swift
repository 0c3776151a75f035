// Which database the command line means: the private one of an account, or the public one, in a container.

import StratusCloud
import StratusModel
import StratusRecords

struct DatabaseChoice {
    let container: String
    /// The owner; of the public database, who acts in it unless somebody else is named.
    let account: PersonAddress
    /// The owner by user name, which goes before the account: also one that has no account in the store.
    let owner: String?
    let isPublic: Bool
    /// The zone, where an address names it.
    let zone: String?

    /// The owner's account, or nil.
    func findOwner(in reader: RecordReader) throws -> StratusModel.Account? {
        if let owner { return try AccountDirectory().account(userName: UserName(owner), in: reader) }
        return try account.account(in: reader)
    }

    /// The database of the account that was found.
    ///
    /// Throws `notFound` when none was, and no owner was named.
    func database(of account: StratusModel.Account?) throws(ToolError) -> DatabaseID {
        if isPublic { return DatabaseID(container: ContainerName(container), owner: nil, scope: .public) }
        guard let owner = account?.userName ?? owner.map({ UserName($0) }) else { throw noAccount }
        return DatabaseID(container: ContainerName(container), owner: owner, scope: .private)
    }

    var noAccount: ToolError {
        if let owner {
            return ToolError(
                .notFound, "No account has this user name: leave --owner out, or name one that has.", ["owner": owner])
        }
        return ToolError(
            .notFound,
            "The store has no such account: choose one with --account, or make it with 'stratus accounts create'.",
            ["account": account.text])
    }
}
