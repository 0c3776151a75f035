// What every verb asks for that takes something away: --force, --dry-run, or a yes on the terminal.

import ArgumentParser
import CSystem

/// The arguments of a verb whose deed cannot be undone. Such a verb calls `mayDo` when it knows what would happen, and
/// before anything has.
struct DeedArguments: ParsableArguments {
    private static let input: Int32 = 0

    @Flag(help: "Do it without asking. Needed where nobody can be asked: without a terminal.")
    var force = false

    @Flag(help: "Say what would be done, and change nothing.")
    var dryRun = false

    /// Whether to go on with the deed, which is said as what is to happen: "delete zone notes with 12 records". It is not
    /// asked for under --force.
    ///
    /// Under --dry-run it is told with `details` as a result, `{"dryRun":true,"would":…,…details}`, and the verb is over.
    ///
    /// Throws `refused` where the person on the terminal does not say yes, and where nobody can be asked.
    func mayDo(
        _ deed: @autoclosure () throws -> String, _ details: JSONObject = [:], _ console: Console
    ) throws -> Bool {
        if force, !dryRun { return true }
        let deed = try deed()
        let visible = VisibleText.of(deed)
        if dryRun {
            var object: JSONObject = ["dryRun": true, "would": .string(deed)]
            for (key, value) in details.members { object.add(key, value) }
            try console.line("would " + visible)
            try console.object(object)
            try console.flush()
            return false
        }
        guard console.canAsk, cfiletree_is_terminal(Self.input) == 1 else {
            throw ToolError(
                .refused, "Nothing was changed: say --force where nobody can be asked, or --dry-run to look first.",
                ["would": deed])
        }
        // The end of the input is no yes.
        let answer = console.ask("About to \(visible). This cannot be undone. Go on? [y/N] ")?.lowercased()
        guard answer == "y" || answer == "yes" else {
            throw ToolError(.refused, "Nothing was changed: the answer was not yes.", ["would": deed])
        }
        return true
    }
}
