// The keyspaces of a database outside its zones.

/// What the keys (database, 0, tag, …) of a database say. The raw values are stored: they never change.
package enum DatabaseKeyspace: UInt8, Hashable, Sendable, CaseIterable {
    /// Key: nothing more. Value: `DatabaseHeader`. Counters.
    case header = 1
    /// Key: zone name. Value: `ZoneEntry`. The zone's number and identity.
    case zones = 2
    /// Key: counter. Value: `DatabaseChangeEntry`. The feed of zones; at most one entry per zone.
    case changes = 3
    /// Key: user, subscription. Never written: subscriptions lie outside databases, for some are to shared ones
    /// (`GlobalKeyspace.subscriptions`).
    case subscriptions = 4
    /// Key: record type. Never written: a schema is its container's (`GlobalKeyspace.schema`).
    case schema = 5
    /// Key: zone name. Value: `ZoneSettingsEntry`. What was chosen when the zone was made; absent where all is default.
    case zoneSettings = 6
    /// Key: zone name. Value: `ZoneMarkerEntry`. Why a host deleted the zone, until it is made anew.
    case zoneMarkers = 7
    /// Key: zone name. Value: `ZoneAssetsEntry`. How often the zone's records hold an asset; absent where never.
    case zoneAssets = 8
}
