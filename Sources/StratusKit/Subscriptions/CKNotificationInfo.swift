// The content of a subscription's notifications. The class is top-level because Foundation on Linux cannot archive
// nested classes; clients write `CKSubscription.NotificationInfo`.
//
// Invariant: one lock guards everything, because clients change it on any thread.

public import Foundation
import StratusModel
import StratusStore

/// The content of a subscription's notifications.
///
/// If you set only `shouldSendContentAvailable`, notifications are silent: the app is woken and fetches what has
/// changed. Two objects are equal when their content is equal.
public final class CKNotificationInfo: NSObject, NSSecureCoding, NSCopying, Sendable {
    private let content: Locked<NotificationTemplate>

    init(_ template: NotificationTemplate) {
        content = Locked(template)
        super.init()
    }

    /// Creates an empty object.
    public override convenience init() { self.init(NotificationTemplate()) }

    /// Creates an object with this content. Arguments are keys of fields, whose values fill the placeholders of the
    /// app's texts.
    public convenience init(
        alertBody: String? = nil, alertLocalizationKey: String? = nil, alertLocalizationArgs: [CKRecord.FieldKey] = [],
        title: String? = nil, titleLocalizationKey: String? = nil, titleLocalizationArgs: [CKRecord.FieldKey] = [],
        subtitle: String? = nil, subtitleLocalizationKey: String? = nil,
        subtitleLocalizationArgs: [CKRecord.FieldKey] = [], alertActionLocalizationKey: String? = nil,
        alertLaunchImage: String? = nil, soundName: String? = nil, desiredKeys: [CKRecord.FieldKey] = [],
        shouldBadge: Bool = false, shouldSendContentAvailable: Bool = false, shouldSendMutableContent: Bool = false,
        category: String? = nil, collapseIDKey: String? = nil
    ) {
        var template = NotificationTemplate()
        template.alert.body = .init(
            text: alertBody, localizationKey: alertLocalizationKey, arguments: alertLocalizationArgs)
        template.alert.title = .init(
            text: title, localizationKey: titleLocalizationKey, arguments: titleLocalizationArgs)
        template.alert.subtitle = .init(
            text: subtitle, localizationKey: subtitleLocalizationKey, arguments: subtitleLocalizationArgs)
        template.alert.actionLocalizationKey = alertActionLocalizationKey
        template.alert.launchImage = alertLaunchImage
        template.alert.soundName = soundName
        template.alert.category = category
        template.alert.isContentAvailable = shouldSendContentAvailable
        template.alert.isMutable = shouldSendMutableContent
        template.desiredKeys = desiredKeys
        template.badges = shouldBadge
        template.collapseKey = collapseIDKey
        self.init(template)
    }

    /// The current content for the server.
    var template: NotificationTemplate { content.value }

    // MARK: Texts

    /// The text.
    public var alertBody: String? {
        get { template.alert.body.text }
        set { content.withLock { $0.alert.body.text = newValue } }
    }

    /// The key of the text among the app's own texts.
    public var alertLocalizationKey: String? {
        get { template.alert.body.localizationKey }
        set { content.withLock { $0.alert.body.localizationKey = newValue } }
    }

    /// The fields whose values fill the placeholders of that text.
    public var alertLocalizationArgs: [CKRecord.FieldKey]? {
        get { template.alert.body.arguments }
        set { content.withLock { $0.alert.body.arguments = newValue } }
    }

    /// The title.
    public var title: String? {
        get { template.alert.title.text }
        set { content.withLock { $0.alert.title.text = newValue } }
    }

    /// The key of the title among the app's own texts.
    public var titleLocalizationKey: String? {
        get { template.alert.title.localizationKey }
        set { content.withLock { $0.alert.title.localizationKey = newValue } }
    }

    /// The fields whose values fill the placeholders of that title.
    public var titleLocalizationArgs: [CKRecord.FieldKey]? {
        get { template.alert.title.arguments }
        set { content.withLock { $0.alert.title.arguments = newValue } }
    }

    /// The line below the title.
    public var subtitle: String? {
        get { template.alert.subtitle.text }
        set { content.withLock { $0.alert.subtitle.text = newValue } }
    }

    /// The key of that line among the app's own texts.
    public var subtitleLocalizationKey: String? {
        get { template.alert.subtitle.localizationKey }
        set { content.withLock { $0.alert.subtitle.localizationKey = newValue } }
    }

    /// The fields whose values fill the placeholders of that line.
    public var subtitleLocalizationArgs: [CKRecord.FieldKey]? {
        get { template.alert.subtitle.arguments }
        set { content.withLock { $0.alert.subtitle.arguments = newValue } }
    }

    /// The key of the action's title among the app's own texts.
    public var alertActionLocalizationKey: String? {
        get { template.alert.actionLocalizationKey }
        set { content.withLock { $0.alert.actionLocalizationKey = newValue } }
    }

    // MARK: Effects

    /// The name of the image to show while the app is launched.
    public var alertLaunchImage: String? {
        get { template.alert.launchImage }
        set { content.withLock { $0.alert.launchImage = newValue } }
    }

    /// The name of the sound to play.
    public var soundName: String? {
        get { template.alert.soundName }
        set { content.withLock { $0.alert.soundName = newValue } }
    }

    /// The fields whose values are included: at most three texts, numbers, dates, locations or references (L-13).
    public var desiredKeys: [CKRecord.FieldKey]? {
        get { template.desiredKeys }
        set { content.withLock { $0.desiredKeys = newValue } }
    }

    /// Whether the app's icon counts the notifications.
    public var shouldBadge: Bool {
        get { template.badges }
        set { content.withLock { $0.badges = newValue } }
    }

    /// Whether the app is woken to fetch what has changed.
    public var shouldSendContentAvailable: Bool {
        get { template.alert.isContentAvailable }
        set { content.withLock { $0.alert.isContentAvailable = newValue } }
    }

    /// Whether an extension of the app may change the notification before it is shown.
    public var shouldSendMutableContent: Bool {
        get { template.alert.isMutable }
        set { content.withLock { $0.alert.isMutable = newValue } }
    }

    /// The name of the group of actions to offer.
    public var category: String? {
        get { template.alert.category }
        set { content.withLock { $0.alert.category = newValue } }
    }

    /// The key by which a later notification replaces an earlier one that waits.
    public var collapseIDKey: String? {
        get { template.collapseKey }
        set { content.withLock { $0.collapseKey = newValue } }
    }

    // MARK: Equality, copying and archiving

    public override func isEqual(_ object: Any?) -> Bool { (object as? CKNotificationInfo)?.template == template }

    /// Constant, because the content can change.
    public override var hash: Int { 0 }

    public override var description: String { "<CKNotificationInfo: \(template)>" }

    /// Returns another object with the same content.
    public func copy(with zone: NSZone? = nil) -> Any { CKNotificationInfo(template) }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    public static override func classFallbacksForKeyedArchiver() -> [String] { ["CKNotificationInfo"] }

    /// Archives the content.
    public func encode(with coder: NSCoder) {
        coder.encodeBlock(ArchivedTemplate(template), forKey: CoderKey.notificationInfo)
    }

    /// Decodes an object. Returns nil if there is none, as in archives from Apple's systems.
    public convenience init?(coder: NSCoder) {
        guard let archived = coder.decodeBlock(ArchivedTemplate.self, forKey: CoderKey.notificationInfo) else {
            return nil
        }
        self.init(archived.template)
    }
}

/// A template in an archive. Clients store archives: names never change.
private struct ArchivedTemplate: Codable {
    struct Phrase: Codable {
        var text: String?
        var key: String?
        var fields: [String]?

        init(_ phrase: NotificationPhrase) {
            (text, key, fields) = (phrase.text, phrase.localizationKey, phrase.arguments)
        }

        var phrase: NotificationPhrase { .init(text: text, localizationKey: key, arguments: fields) }
    }

    var alert: Phrase
    var title: Phrase
    var subtitle: Phrase
    var action: String?
    var launchImage: String?
    var sound: String?
    var desiredKeys: [String]?
    var badges: Bool
    var isContentAvailable: Bool
    var isMutable: Bool
    var category: String?
    var collapseKey: String?

    init(_ template: NotificationTemplate) {
        alert = Phrase(template.alert.body)
        title = Phrase(template.alert.title)
        subtitle = Phrase(template.alert.subtitle)
        action = template.alert.actionLocalizationKey
        launchImage = template.alert.launchImage
        sound = template.alert.soundName
        desiredKeys = template.desiredKeys
        badges = template.badges
        isContentAvailable = template.alert.isContentAvailable
        isMutable = template.alert.isMutable
        category = template.alert.category
        collapseKey = template.collapseKey
    }

    var template: NotificationTemplate {
        var template = NotificationTemplate()
        template.alert.body = alert.phrase
        template.alert.title = title.phrase
        template.alert.subtitle = subtitle.phrase
        template.alert.actionLocalizationKey = action
        template.alert.launchImage = launchImage
        template.alert.soundName = sound
        template.desiredKeys = desiredKeys
        template.badges = badges
        template.alert.isContentAvailable = isContentAvailable
        template.alert.isMutable = isMutable
        template.alert.category = category
        template.collapseKey = collapseKey
        return template
    }
}
