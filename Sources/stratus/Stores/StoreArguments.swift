// The arguments that every verb shares, so that they are spelled and mean the same everywhere.

import ArgumentParser
import StratusCloud
import StratusModel
import StratusRecords

/// Which store, and how to answer.
struct StoreArguments: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("The store's directory.", valueName: "path"), completion: .directory)
    var store: String

    @Option(name: .long, help: ArgumentHelp("The container that the database belongs to.", valueName: "name"))
    var container = "iCloud.default"

    @Option(
        name: .long,
        help: ArgumentHelp("The person whose private database it is ('stratus help addresses').", valueName: "person"))
    var owner = PersonArgument("local")

    @Flag(name: .customLong("public"), help: "The public database of the container, which has one zone.")
    var isPublic = false

    @Option(
        name: .customLong("in"),
        help: ArgumentHelp(
            "The database or zone, by its address: db://CONTAINER/PERSON or db://CONTAINER/PERSON/ZONE.",
            valueName: "address"))
    var place: PlaceAddress?

    @Flag(name: .long, help: "Answer with JSON: one object a line, errors as {\"error\":…} on standard error.")
    var json = false

    /// The database that the verb works in.
    var database: DatabaseChoice {
        guard let place else {
            return DatabaseChoice(container: container, owner: owner, isPublic: isPublic, zone: nil)
        }
        return DatabaseChoice(
            container: place.container, owner: place.owner ?? owner, isPublic: place.owner == nil, zone: place.zone)
    }

    /// The same where an address names another place.
    func at(_ place: PlaceAddress?) -> StoreArguments {
        guard let place else { return self }
        var copy = self
        copy.place = place
        return copy
    }
}

/// Which store, for verbs about the whole of it.
struct WholeStoreArguments: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("The store's directory.", valueName: "path"), completion: .directory)
    var store: String

    @Flag(name: .long, help: "Answer with JSON: one object a line, errors as {\"error\":…} on standard error.")
    var json = false

    /// The same for what also takes verbs about one database.
    var arguments: StoreArguments {
        var arguments = StoreArguments()
        arguments.store = store
        arguments.container = "iCloud.default"
        arguments.owner = PersonArgument("local")
        arguments.isPublic = false
        arguments.place = nil
        arguments.json = json
        return arguments
    }
}

/// Which zone of the database.
struct ZoneArguments: ParsableArguments {
    /// The zone that every database has.
    static let defaultZone = "_defaultZone"
    /// The zone that is meant where none is named.
    fileprivate static let usualZone = "files"

    @Option(name: .long, help: ArgumentHelp("The zone.", valueName: "name"))
    var zone = Self.usualZone

    func validate() throws { try Self.check(zone) }

    /// Throws where no zone can have the name.
    static func check(_ zone: String) throws {
        // L-08: only the system's zones begin with an underscore.
        if zone == defaultZone { return }
        let isWellFormed = (1...255).contains(zone.utf8.count) && zone.utf8.allSatisfy { (0x21..<0x7F).contains($0) }
        guard isWellFormed, !zone.hasPrefix("_") else {
            throw ValidationError(
                "'\(VisibleText.of(zone))' is no zone name: use 1 to 255 visible ASCII characters, the first not '_'.")
        }
    }
}

/// The zone that a verb about zones works on: by its name alone, or by --zone or --in.
struct NamedZoneArguments: ParsableArguments {
    @Argument(help: ArgumentHelp("The zone, in place of --zone.", valueName: "name"))
    var name: String?

    @OptionGroup var option: ZoneArguments

    func validate() throws {
        guard let name else { return }
        try ZoneArguments.check(name)
        guard option.zone == name || option.zone == ZoneArguments.usualZone else {
            throw ValidationError("Name the zone once: '\(name)' and --zone '\(option.zone)' are two.")
        }
    }

    /// The zone that is named.
    ///
    /// Throws `usage` where an address names another, and for a public database, which has one zone.
    func zone(_ store: StoreArguments) throws -> ZoneArguments {
        guard let name else { return option }
        guard !store.database.isPublic || name == ZoneArguments.defaultZone else {
            throw ToolError(.usage, "A public database has one zone: leave the zone's name out.", ["argument": name])
        }
        if let other = store.place?.zone, other != name {
            throw ToolError(
                .usage, "Name the zone once: the argument and the address of --in name two.",
                ["argument": name, "address": other])
        }
        var zone = option
        zone.zone = name
        return zone
    }
}

// Which database the command line means: the private one of an account, or the public one, in a container.

struct DatabaseChoice {
    let container: String
    /// The owner; of the public database, who acts in it unless somebody else is named. Named by their user name they need
    /// no account any more.
    let owner: PersonArgument
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
