// The records and shares of a zone for a picture. Records that the person does not see are neither drawn nor counted.

import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

struct ZonePictures: PictureSource {
    let zone: ZoneReader
    let sight: Sight

    /// The number of shares that the person sees.
    func shareCount(looking: () -> Void) throws -> Int {
        var count = 0
        try zone.visitShareNames(looking: looking) { name in
            if try sight.sees(name) { count += 1 }
            return .next
        }
        return count
    }

    /// Skips shares, which are drawn apart from the hierarchy.
    func visitChildren(of parent: RecordName?, didLook: () -> Void, _ visit: (Child) throws -> Void) throws {
        try zone.visitSeen(below: parent, sight, looking: didLook) { child in
            if try parent != nil || !zone.isShare(child.name) { try visit(child) }
        }
    }

    func recordCount(below name: RecordName, didLook: () -> Void) throws -> (children: Int, all: Int) {
        var count = (children: 0, all: 0)
        try zone.visitSubtree(below: name) { child, level in
            didLook()
            guard try sight.sees(child.name) else { return .skipChildren }
            count.all += 1
            if level == 1 { count.children += 1 }
            return .next
        }
        return count
    }

    func ways(toRootsBelow parent: RecordName?, limit: Int) throws -> [RecordName: Int] {
        var ways: [RecordName: Int] = [:]
        try visitCounts(below: parent) { name, count in
            guard ways.count < limit else { return .stop }
            if try sight.sees(name) { ways[name] = count }
            return .next
        }
        return ways
    }

    /// 0 for anyone but the owner, who may not see all folded roots.
    func rootCount(below parent: RecordName?) throws -> Int {
        guard sight.isWhole else { return 0 }
        var sum = 0
        try visitCounts(below: parent) { _, count in
            sum += count
            return .next
        }
        return sum
    }

    private func visitCounts(
        below parent: RecordName?, _ visit: (RecordName, Int) throws -> ScanStep
    ) throws {
        try zone.store.scan(zone.keys.shareCounts(below: parent)) { key, value in
            let name = try zone.keys.readShareCountKey(key).name
            return try visit(name, Int(clamping: CountEntry(decoding: value).count))
        }
    }

    func facts(of name: RecordName) throws -> PictureFacts? {
        guard let record = try zone.record(name, fields: .only([TreeField.name]))?.record else { return nil }
        let share = try record.share.flatMap { try sight.sees($0) ? $0 : nil }
        return PictureFacts(
            label: DisplayText.of(record.label), type: DisplayText.of(record.type.text), share: share)
    }
}

// MARK: - Shares

/// Shares for pictures, without their secrets.
struct SharePictures {
    /// How many people of one share are drawn.
    static let personCount = 40
    /// The name of a root that the person does not see.
    static let unseenRoot = "(hidden)"

    let zone: ZoneReader
    let sight: Sight
    let reader: RecordReader

    var people: People { People(reader: reader, viewer: sight.viewer) }

    /// The share of this name; nil if it has no record.
    func share(_ name: RecordName) throws -> PictureShare? {
        guard let content = try zone.shareContent(name) else { return nil }
        return try share(name, content)
    }

    func share(_ name: RecordName, _ content: ShareContent) throws -> PictureShare {
        let rootLabel = try content.root.map { root -> String in
            // A participant may see the share and not its root.
            guard try sight.sees(root) else { return Self.unseenRoot }
            return try zone.record(root, fields: .only([TreeField.name]))?.record.label ?? root.text
        }
        let shown = sight.participants(of: content)
        return PictureShare(
            name: DisplayText.of(name.text), rootLabel: rootLabel.map { DisplayText.of($0) },
            publicPermission: content.publicPermission.words,
            people: try shown.prefix(Self.personCount).map { try person($0, content) },
            morePeopleCount: max(0, shown.count - Self.personCount))
    }

    private func person(_ one: ShareParticipant, _ content: ShareContent) throws -> PicturePerson {
        let permission = one.role == .publicUser ? content.publicPermission : one.permission
        return PicturePerson(
            title: DisplayText.of(try title(of: one, content)), role: "\(one.role)", rights: permission,
            hasAccepted: one.status == .accepted)
    }

    /// Shows host identifiers only to the host, and addresses of invitations only to people who manage the share.
    private func title(of one: ShareParticipant, _ content: ShareContent) throws -> String {
        if sight.isWhole || one.user == sight.viewer { return try people.title(of: one.user, one) }
        if let user = one.user { return "user:\(user.text)" }
        return sight.manages(content) ? try people.title(of: nil, one) : "an invited person"
    }
}
