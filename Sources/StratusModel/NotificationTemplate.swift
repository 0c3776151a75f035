// What notifications say and do where they arrive: asked for by a subscription, and filled with what has happened.

/// A text, or a key and what fills the gaps of the text that an app finds by it.
package struct NotificationPhrase: Hashable, Codable, Sendable {
    package var text: String?
    package var localizationKey: String?
    /// Names of fields in what is asked for, their values in what is told.
    package var arguments: [String]?

    package init(text: String? = nil, localizationKey: String? = nil, arguments: [String]? = nil) {
        self.text = text
        self.localizationKey = localizationKey
        self.arguments = arguments
    }
}

/// What a notification says and does.
package struct NotificationAlert: Hashable, Codable, Sendable {
    package var body = NotificationPhrase()
    package var title = NotificationPhrase()
    package var subtitle = NotificationPhrase()
    package var actionLocalizationKey: String?
    package var launchImage: String?
    package var soundName: String?
    package var category: String?
    package var isContentAvailable = false
    package var isMutable = false

    package init() {}
}

/// What a subscription's notifications are to say and to do.
package struct NotificationTemplate: Hashable, Codable, Sendable {
    /// Names of fields stand for their values in the record.
    package var alert = NotificationAlert()
    /// Fields whose values come along (L-13).
    package var desiredKeys: [String]?
    /// A later notification of the same key takes an earlier one's place.
    package var collapseKey: String?
    /// Whether the number on the app's icon grows.
    package var badges = false

    package init() {}
}
