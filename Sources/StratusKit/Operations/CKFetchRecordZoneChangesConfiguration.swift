// Where the fetch of a zone's changes begins, and what it brings. Top-level, because Foundation on Linux cannot archive
// nested classes; clients say `CKFetchRecordZoneChangesOperation.ZoneConfiguration`.

public import Foundation
import StratusStore

/// What a zone's fetch of changes is made of.
struct ZoneFetchSettings: Sendable {
    var token: CKServerChangeToken?
    var resultsLimit = 0
    var desiredKeys: [CKRecord.FieldKey]?
}

extension ZoneFetchSettings {
    func encode(with coder: NSCoder) {
        coder.encode(token, forKey: CoderKey.previousChangeToken)
        coder.encode(Int64(resultsLimit), forKey: CoderKey.resultsLimit)
        if let desiredKeys { coder.encodeBlock(desiredKeys, forKey: CoderKey.desiredKeys) }
    }

    init(coder: NSCoder) {
        self.init(
            token: coder.decodeValue(of: CKServerChangeToken.self, forKey: CoderKey.previousChangeToken),
            resultsLimit: Int(coder.decodeNumber(forKey: CoderKey.resultsLimit)),
            desiredKeys: coder.decodeBlock([String].self, forKey: CoderKey.desiredKeys))
    }
}

/// Where the fetch of a zone's changes begins, and what it brings.
public final class CKFetchRecordZoneChangesConfiguration: NSObject, NSSecureCoding, NSCopying, Sendable {
    private let settings: Locked<ZoneFetchSettings>

    init(_ settings: ZoneFetchSettings) {
        self.settings = Locked(settings)
        super.init()
    }

    /// A fetch of everything, from the beginning.
    public override convenience init() { self.init(ZoneFetchSettings()) }

    /// A fetch of what has changed.
    /// - Parameters:
    ///   - previousServerChangeToken: How far the client has followed the zone; nil to begin anew.
    ///   - resultsLimit: Records and deletions in one page; nil or 0 lets the server decide.
    ///   - desiredKeys: The fields to fetch: nil for all, none for system fields alone (T-14).
    public convenience init(
        previousServerChangeToken: CKServerChangeToken? = nil, resultsLimit: Int? = nil,
        desiredKeys: [CKRecord.FieldKey]? = nil
    ) {
        self.init(
            ZoneFetchSettings(
                token: previousServerChangeToken, resultsLimit: resultsLimit ?? 0, desiredKeys: desiredKeys))
    }

    /// The settings as they are now.
    var current: ZoneFetchSettings { settings.value }

    /// How far the client has followed the zone; nil to begin anew.
    public var previousServerChangeToken: CKServerChangeToken? {
        get { settings.value.token }
        set { settings.withLock { $0.token = newValue } }
    }

    /// Records and deletions in one page; 0 lets the server decide (T-14).
    public var resultsLimit: Int {
        get { settings.value.resultsLimit }
        set { settings.withLock { $0.resultsLimit = newValue } }
    }

    /// The fields to fetch: nil for all, none for system fields alone (T-14).
    public var desiredKeys: [CKRecord.FieldKey]? {
        get { settings.value.desiredKeys }
        set { settings.withLock { $0.desiredKeys = newValue } }
    }

    // MARK: Copying and archiving

    /// Another object with the same settings.
    public func copy(with zone: NSZone? = nil) -> Any { CKFetchRecordZoneChangesConfiguration(current) }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    public static override func classFallbacksForKeyedArchiver() -> [String] {
        ["CKFetchRecordZoneChangesConfiguration"]
    }

    /// Archives the settings.
    public func encode(with coder: NSCoder) { current.encode(with: coder) }

    /// Decodes settings. An archive that holds none is of a fetch of everything.
    public convenience init?(coder: NSCoder) {
        guard !coder.hasDamagedBlock([String].self, forKey: CoderKey.desiredKeys) else { return nil }
        self.init(ZoneFetchSettings(coder: coder))
    }
}
