// The texts and effects of notifications. A subscription has a template; a notification has its filled form.

/// A text, or the key of an app's localized text with the arguments for its placeholders.
package struct NotificationPhrase: Hashable, Codable, Sendable {
    package var text: String?
    package var localizationKey: String?
    /// Names of fields in a template, their values in a notification.
    package var arguments: [String]?

    package init(text: String? = nil, localizationKey: String? = nil, arguments: [String]? = nil) {
        self.text = text
        self.localizationKey = localizationKey
        self.arguments = arguments
    }
}

/// The texts and effects of a notification.
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

/// The texts and effects that a subscription wants.
package struct NotificationTemplate: Hashable, Codable, Sendable {
    /// Arguments are names of fields; a notification replaces them with the values of the record.
    package var alert = NotificationAlert()
    /// The fields whose values a notification includes (L-13).
    package var desiredKeys: [String]?
    /// A later notification with the same key replaces an earlier one.
    package var collapseKey: String?
    /// Whether notifications increase the number on the app's icon.
    package var badges = false

    package init() {}
}
