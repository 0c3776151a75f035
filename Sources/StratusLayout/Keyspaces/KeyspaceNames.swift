// The names of keyspaces in errors and in lines that describe keys: those of their cases. They are made once, for a name that
// is made anew costs more than reading a key.

extension ZoneKeyspace {
    private static let names = KeyspaceNames(of: ZoneKeyspace.self)

    var name: String { Self.names[rawValue] }
}

extension DatabaseKeyspace {
    private static let names = KeyspaceNames(of: DatabaseKeyspace.self)

    var name: String { Self.names[rawValue] }
}

extension GlobalKeyspace {
    private static let names = KeyspaceNames(of: GlobalKeyspace.self)

    var name: String { Self.names[rawValue] }
}

/// The names of all keyspaces of one kind, by their tags.
private struct KeyspaceNames: Sendable {
    private let names: [String]

    init<Keyspace: CaseIterable & RawRepresentable<UInt8>>(of type: Keyspace.Type) {
        var names: [String] = []
        for keyspace in Keyspace.allCases {
            let tag = Int(keyspace.rawValue)
            while names.count <= tag { names.append("") }
            names[tag] = "\(keyspace)"
        }
        self.names = names
    }

    /// The name of a keyspace that there is.
    subscript(tag: UInt8) -> String { names[Int(tag)] }
}
