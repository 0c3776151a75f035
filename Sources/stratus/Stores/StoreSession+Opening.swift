// How a verb opens a store: what it wants of it.

extension StoreSession {
    /// How a store is opened.
    ///
    /// A store that another process holds is read from a copy of its own, as it was when the verb began, and written through
    /// that process where it serves a socket. Else, and where a verb wants the store for itself, writing throws `held`.
    enum Opening {
        /// To be read, with the engine alone.
        case reading
        /// The same with the contents of assets.
        case readingAssets
        /// To be read, with the face above the engine where the database's owner has an account.
        case readingAsClient
        /// The same with the contents of assets.
        case readingAssetsAsClient
        /// To be written, with the engine alone; the store is there.
        case existing
        /// The same with the face above the engine where the database's owner has an account.
        case existingAsClient
        /// The same for what no host does for others.
        case owningAsClient
        /// The same, and a store of an older format gets that of this software.
        case migrating
        /// With the face above the engine; store and account are made where there are none.
        case creatingAsClient
        /// The same for what no host does for others.
        case creatingForItself

        var isReading: Bool { [.reading, .readingAssets, .readingAsClient, .readingAssetsAsClient].contains(self) }
        var wantsAssets: Bool { [.readingAssets, .readingAssetsAsClient].contains(self) }
        var wantsFace: Bool {
            [.existingAsClient, .owningAsClient, .migrating, .readingAsClient, .readingAssetsAsClient].contains(self)
        }
        var mayCreate: Bool { [.creatingAsClient, .creatingForItself].contains(self) }
        var mayBeServed: Bool { [.existing, .existingAsClient, .creatingAsClient].contains(self) }
    }
}
