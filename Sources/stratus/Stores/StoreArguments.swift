// The arguments that verbs share. They are spelled the same and mean the same in every verb.

import ArgumentParser
import StratusModel

private let storeHelp = ArgumentHelp("The store's directory, or its URL on PostgreSQL.", valueName: "path or URL")

/// The arguments of any verb that opens a store.
protocol StoreOptions {
    /// The store's directory or URL. A URL may have a password: show only `StoreAddress.shown`.
    var store: String { get }
    var json: Bool { get }
    /// The database that the verb works in.
    var database: DatabaseChoice { get }
}

/// The store and the database, and how to print results.
struct StoreArguments: ParsableArguments, StoreOptions {
    @Option(name: .long, help: storeHelp, completion: .directory)
    var store: String

    @Option(name: .long, help: ArgumentHelp("The container of the database.", valueName: "name"))
    var container = DatabaseChoice.standard.container

    @Option(
        name: .long,
        help: ArgumentHelp("The person who owns the private database ('stratus help addresses').", valueName: "person"))
    var owner = DatabaseChoice.standard.owner

    @Flag(name: .customLong("public"), help: "Use the container's public database, which has one zone.")
    var isPublic = false

    @Option(
        name: .customLong("in"),
        help: ArgumentHelp(
            "The database or zone, by its address: db://CONTAINER/PERSON or db://CONTAINER/PERSON/ZONE.",
            valueName: "address"))
    var place: PlaceAddress?

    @Flag(name: .long, help: "Print JSON: one object per line, errors as {\"error\":…} on standard error.")
    var json = false

    func validate() throws {
        guard (1...255).contains(container.utf8.count) else {
            throw ValidationError("--container must have 1 to 255 bytes: name a container, such as iCloud.default.")
        }
    }

    var database: DatabaseChoice {
        guard let place else { return DatabaseChoice(container: container, owner: owner, isPublic: isPublic) }
        return DatabaseChoice(
            container: place.container, owner: place.owner ?? owner, isPublic: place.owner == nil, zone: place.zone)
    }

    /// The same arguments with the database and zone of an address, if it names one.
    func at(_ place: PlaceAddress?) -> StoreArguments {
        guard let place else { return self }
        var copy = self
        copy.place = place
        return copy
    }
}

/// The store, for verbs that work on all of it.
struct WholeStoreArguments: ParsableArguments, StoreOptions {
    @Option(name: .long, help: storeHelp, completion: .directory)
    var store: String

    @Flag(name: .long, help: "Print JSON: one object per line, errors as {\"error\":…} on standard error.")
    var json = false

    var database: DatabaseChoice { .standard }
}

/// The zone of the database.
struct ZoneArguments: ParsableArguments {
    /// The zone that every database has.
    static let defaultZone = "_defaultZone"
    /// The zone of a command line that names none.
    fileprivate static let usualZone = "files"

    @Option(name: .long, help: ArgumentHelp("The zone.", valueName: "name"))
    var zone = Self.usualZone

    func validate() throws { try Self.check(zone) }

    /// Throws if no zone can have the name.
    static func check(_ zone: String) throws {
        // L-08: only the system's zones begin with an underscore.
        if zone == defaultZone { return }
        let isWellFormed = (1...255).contains(zone.utf8.count) && zone.utf8.allSatisfy { (0x21..<0x7F).contains($0) }
        guard isWellFormed, !zone.hasPrefix("_") else {
            throw ValidationError(
                "'\(VisibleText.of(zone))' is not a zone name: use 1 to 255 visible ASCII characters; "
                    + "the first must not be '_'.")
        }
    }
}

/// The person whose rights a verb uses.
struct ActingArguments: ParsableArguments {
    @Option(
        name: .customLong("as"),
        help: ArgumentHelp(
            "Act with the rights of this person; without it, as the database's owner.", valueName: "person"))
    var person: PersonArgument?

    /// How a reading verb opens the store. Without a person it reads below CloudKit's API.
    var opening: StoreSession.Opening { person == nil ? .reading : .readingAsClient }

    /// How a writing verb opens the store.
    var writing: StoreSession.Opening { person == nil ? .existing : .existingAsClient }
}

/// A verb about records in a zone. Its groups of arguments are not within another group: the parser's debug builds
/// would validate them many times over.
protocol PlaceCommand: ParsableCommand {
    var store: StoreArguments { get }
    var zone: ZoneArguments { get }
    var acting: ActingArguments { get }
}

/// The zone of a verb about zones: a name, or --zone, or --in.
struct NamedZoneArguments: ParsableArguments {
    @Argument(help: ArgumentHelp("The zone; the same as --zone.", valueName: "name"))
    var name: String?

    @OptionGroup var option: ZoneArguments

    func validate() throws {
        guard let name else { return }
        try ZoneArguments.check(name)
        guard option.zone == name || option.zone == ZoneArguments.usualZone else {
            throw ValidationError("Name one zone: '\(name)' and --zone '\(option.zone)' differ.")
        }
    }

    /// The zone that is named.
    ///
    /// Throws `usage` if an address names another zone, and for a public database, which has one zone.
    func zone(_ store: StoreArguments) throws -> ZoneArguments {
        guard let name else { return option }
        guard !store.database.isPublic || name == ZoneArguments.defaultZone else {
            throw ToolError(.usage, "A public database has one zone: leave out the zone's name.", ["argument": name])
        }
        if let other = store.place?.zone, other != name {
            throw ToolError(
                .usage, "Name one zone: the argument and the address after --in differ.",
                ["argument": name, "address": other])
        }
        var zone = option
        zone.zone = name
        return zone
    }
}

/// The database that the command line names: a private one, or a container's public one.
struct DatabaseChoice {
    let container: String
    /// The owner; for the public database, the person who acts in it unless --as names another. An owner named by user
    /// name does not need an account.
    let owner: PersonArgument
    var isPublic = false
    /// The zone, if an address names it.
    var zone: String?

    /// The database of a command line that names none.
    static let standard = DatabaseChoice(container: "iCloud.default", owner: PersonArgument("local"))

    /// The database of the owner's account.
    ///
    /// Throws `notFound` if there is no account and the owner is not named by user name.
    func database(of account: StoredAccount?) throws(ToolError) -> DatabaseID {
        if isPublic { return DatabaseID(container: ContainerName(container), owner: nil, scope: .public) }
        guard let user = account?.userName ?? owner.userName else { throw noAccount }
        return DatabaseID(container: ContainerName(container), owner: user, scope: .private)
    }

    var noAccount: ToolError {
        ToolError(
            .notFound,
            "The store has no such account: choose one with --owner, or create it with 'stratus accounts create'.",
            ["owner": owner.text])
    }
}
