// The contents of change tokens. Clients store tokens, some for months, so these bytes change as carefully as those on
// disk. Tokens are sealed: no client can read or forge one.

package import FoundationEssentials
package import StratusModel
package import StratusStore

/// A client's position in the changes of a zone.
///
/// Bytes: version 1 · UUID: the zone's identity · UUID: its incarnation · byte: 1 an owner's, 2 a guest's, 3 an owner's
/// first sync · (1) numbers: position, beginning · (3) number: end · byte: 1 and a text, the last name, or 0 ·
/// (2) number: base · flags (1 redelivers, 2 in a round) · (2 in a round) the round: number: end · flags (1 will
/// redeliver, 2 share, 4 walk, 8 top of the walk, 16 last name of the walk) · byte: phase · number: sequence · a text
/// for each flag from 2 on but for the walk.
package struct ZoneToken: VersionedValue {
    package var identity: UUID
    package var incarnation: UUID
    package var progress: Progress

    package enum Progress: Hashable, Sendable {
        case owner(OwnerProgress)
        case guest(GuestProgress)
        case firstSync(FirstSync)
    }

    package init(identity: UUID, incarnation: UUID, progress: Progress) {
        self.identity = identity
        self.incarnation = incarnation
        self.progress = progress
    }

    package func appendParts(to bytes: inout [UInt8]) {
        ValueWriter.append(identity, incarnation, to: &bytes)
        switch progress {
        case .owner(let owner): ValueWriter.append(UInt8(1), owner, to: &bytes)
        case .firstSync(let sync): ValueWriter.append(UInt8(3), sync.end, sync.last, to: &bytes)
        case .guest(let guest):
            let flags: UInt8 = (guest.redelivers ? 1 : 0) | (guest.round == nil ? 0 : 2)
            ValueWriter.append(UInt8(2), guest.base, flags, to: &bytes)
            guest.round?.append(to: &bytes)
        }
    }

    package init(parts reader: inout ValueReader) throws(StoreError) {
        (identity, incarnation) = try reader.read()
        switch try reader.readByte() {
        case 1: progress = .owner(try reader.read())
        case 2:
            let base = try reader.readNumber()
            let flags = try reader.readFlags(below: 4)
            let round = flags & 2 == 0 ? nil : try GuestRound(&reader)
            progress = .guest(GuestProgress(base: base, redelivers: flags & 1 != 0, round: round))
        case 3: progress = .firstSync(FirstSync(end: try reader.read(), last: try reader.read()))
        default: throw reader.corrupt("No kind of token has this number.")
        }
    }
}

/// An owner's position in the changes of a zone, or of the zones of a database.
package struct OwnerProgress: Hashable, Sendable {
    /// The sequence of the last change that was reported.
    package var position: UInt64
    /// The last change when the client began without a token. Earlier deletions are not reported (T-08). 0 after it,
    /// and for zones: only tokens of earlier versions have it.
    package var beginning: UInt64

    package init(position: UInt64, beginning: UInt64) {
        self.position = position
        self.beginning = beginning
    }
}

/// Numbers: position, beginning.
extension OwnerProgress: ValuePart {
    func write(to bytes: inout [UInt8]) { ValueWriter.append(position, beginning, to: &bytes) }

    static func read(from reader: inout ValueReader) throws(StoreError) -> OwnerProgress {
        OwnerProgress(position: try reader.read(), beginning: try reader.read())
    }
}

/// An owner's position in a zone that is read for the first time, in the order of names.
package struct FirstSync: Hashable, Sendable {
    /// The zone's last change when the client began. What was written later comes with the changes after it.
    package var end: UInt64
    /// The last record that was visited. Nil before the first one.
    package var last: RecordName?

    package init(end: UInt64, last: RecordName? = nil) {
        self.end = end
        self.last = last
    }
}

/// A participant's position in another user's zone: everything up to `base`, and the part of a round that was reported
/// since.
package struct GuestProgress: Hashable, Sendable {
    package var base: UInt64
    /// Whether something that was visible at `base` may not have been reported, because it was hidden at its turn.
    package var redelivers: Bool
    package var round: GuestRound?

    package init(base: UInt64, redelivers: Bool = false, round: GuestRound? = nil) {
        self.base = base
        self.redelivers = redelivers
        self.round = round
    }
}

/// The step from one moment of a zone to a later one.
package struct GuestRound: Hashable, Sendable {
    /// The phases, in their order. The raw values are in tokens: they never change.
    package enum Phase: UInt8, Hashable, Sendable, CaseIterable {
        /// The shares that the participant began or ceased to see, by name.
        case shares = 1
        /// The changes of the zone up to the end.
        case changes = 2
        /// Later changes of records that also changed up to the end.
        case laterChanges = 3
    }

    /// The moment at which the round ends.
    package var end: UInt64
    /// Whether the next round must redeliver.
    package var willRedeliver = false
    package var phase = Phase.shares
    /// The last change that was examined.
    package var sequence: UInt64 = 0
    /// The last share that was examined.
    package var share: RecordName?
    /// The walk to finish first.
    package var walk: GuestWalk?

    package init(end: UInt64) { self.end = end }

    private enum Flag {
        static let redeliver: UInt8 = 1
        static let share: UInt8 = 2
        static let walk: UInt8 = 4
        static let top: UInt8 = 8
        static let last: UInt8 = 16
    }

    fileprivate func append(to bytes: inout [UInt8]) {
        ValueWriter.append(number: end, to: &bytes)
        var flags = (willRedeliver ? Flag.redeliver : 0) | (share == nil ? 0 : Flag.share)
        if let walk { flags |= Flag.walk | (walk.top == nil ? 0 : Flag.top) | (walk.last == nil ? 0 : Flag.last) }
        ValueWriter.append(flags, phase.rawValue, sequence, to: &bytes)
        for case let name? in [share, walk?.top, walk?.last] { ValueWriter.append(name, to: &bytes) }
    }

    fileprivate init(_ reader: inout ValueReader) throws(StoreError) {
        end = try reader.readNumber()
        let flags = try reader.readByte()
        guard flags < 32, flags & Flag.walk != 0 || flags & (Flag.top | Flag.last) == 0 else {
            throw reader.corrupt("A flag of the token is unknown.")
        }
        phase = try reader.readCase("No phase has this number.")
        willRedeliver = flags & Flag.redeliver != 0
        sequence = try reader.readNumber()
        share = flags & Flag.share == 0 ? nil : try reader.read() as RecordName
        let top = flags & Flag.top == 0 ? nil : try reader.read() as RecordName
        let last = flags & Flag.last == 0 ? nil : try reader.read() as RecordName
        walk = flags & Flag.walk == 0 ? nil : GuestWalk(top: top, last: last)
    }
}

/// A walk over everything below a record, or over a whole zone.
package struct GuestWalk: Hashable, Sendable {
    /// Nil for the whole zone.
    package var top: RecordName?
    /// The last record that was visited.
    package var last: RecordName?

    package init(top: RecordName?, last: RecordName? = nil) {
        self.top = top
        self.last = last
    }
}

/// An owner's position in the changes of the zones of a private database.
///
/// Bytes: version 1 · UUID: the incarnation of positions · UUID: the database's identity, zero if there was none yet ·
/// numbers: position, beginning.
package struct DatabaseToken: VersionedValue {
    package var incarnation: UUID
    /// Nil if the database had no zone yet.
    package var identity: UUID?
    package var progress: OwnerProgress

    package init(incarnation: UUID, identity: UUID?, progress: OwnerProgress) {
        self.incarnation = incarnation
        self.identity = identity
        self.progress = progress
    }

    private static let nothing = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))

    package func appendParts(to bytes: inout [UInt8]) {
        ValueWriter.append(incarnation, identity ?? Self.nothing, progress, to: &bytes)
    }

    package init(parts reader: inout ValueReader) throws(StoreError) {
        let identity: UUID
        (incarnation, identity, progress) = try reader.read()
        self.identity = identity == Self.nothing ? nil : identity
    }
}

/// Another user's zone, as a participant knows it.
package struct KnownZone: Hashable, Sendable {
    package var owner: UserName
    package var name: ZoneName
    package var identity: UUID
    /// The zone's last change when the zone was reported.
    package var sequence: UInt64

    package init(owner: UserName, name: ZoneName, identity: UUID, sequence: UInt64) {
        self.owner = owner
        self.name = name
        self.identity = identity
        self.sequence = sequence
    }
}

/// A participant's position in the changes of the zones of a shared database.
///
/// Bytes: version 1 · UUID: the incarnation of positions · number: zones · for each: text: owner, text: zone, UUID:
/// identity, number: sequence · byte: 1 the last zone that was reported, else 0 · (1) text: its owner · text: its name.
package struct SharedDatabaseToken: VersionedValue {
    package var incarnation: UUID
    /// In the byte order of owners and names.
    package var zones: [KnownZone]
    /// The last zone that was reported, while there are more.
    package var last: Place?

    package struct Place: Hashable, Comparable, Sendable {
        package var owner: UserName
        package var name: ZoneName

        package init(owner: UserName, name: ZoneName) {
            self.owner = owner
            self.name = name
        }

        package static func < (left: Self, right: Self) -> Bool {
            left.owner == right.owner ? left.name < right.name : left.owner < right.owner
        }
    }

    package init(incarnation: UUID, zones: [KnownZone], last: Place? = nil) {
        self.incarnation = incarnation
        self.zones = zones
        self.last = last
    }

    package func appendParts(to bytes: inout [UInt8]) {
        ValueWriter.append(incarnation, zones, last, to: &bytes)
    }

    package init(parts reader: inout ValueReader) throws(StoreError) {
        (incarnation, zones, last) = try reader.read()
    }
}

extension KnownZone: ValuePart {
    func write(to bytes: inout [UInt8]) { ValueWriter.append(owner, name, identity, sequence, to: &bytes) }

    static func read(from reader: inout ValueReader) throws(StoreError) -> KnownZone {
        KnownZone(
            owner: try reader.read(), name: try reader.read(), identity: try reader.read(), sequence: try reader.read())
    }
}

extension SharedDatabaseToken.Place: ValuePart {
    func write(to bytes: inout [UInt8]) { ValueWriter.append(owner, name, to: &bytes) }

    static func read(from reader: inout ValueReader) throws(StoreError) -> Self {
        Self(owner: try reader.read(), name: try reader.read())
    }
}
