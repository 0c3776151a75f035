// Where a record lives: a database of a container, and a zone in it.

/// Which of a container's databases. The raw values are stored; they never change.
///
/// The shared database has no scope here: it stores nothing and is a window on other people's private databases (D-01).
package enum DatabaseScope: UInt8, Hashable, Codable, Sendable, CaseIterable {
    case `public` = 1
    case `private` = 2
}

/// One database: the private one of an owner, or the public one of a container (`owner` is nil).
package struct DatabaseID: Hashable, Codable, Sendable {
    package let container: ContainerName
    package let owner: UserName?
    package let scope: DatabaseScope

    package init(container: ContainerName, owner: UserName?, scope: DatabaseScope) {
        self.container = container
        self.owner = owner
        self.scope = scope
    }
}

/// One zone of one database, by name.
package struct ZoneID: Hashable, Codable, Sendable {
    package let database: DatabaseID
    package let name: ZoneName

    package init(database: DatabaseID, name: ZoneName) {
        self.database = database
        self.name = name
    }
}
