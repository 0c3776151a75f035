// A picture of what lies in a zone, or below one of its records, as somebody sees it.

import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

struct TreePainter {
    /// Shares that lie outside of what is drawn: of those that are folded away some are named all the same.
    private static let otherShareCount = 20

    let session: StoreSession
    let zone: ZoneID
    let limits: PictureLimits

    /// People see how many records were looked at, and how many the zone has: of those below a record no more is known before
    /// they are counted, which is the work.
    ///
    /// Throws `unknownZone`, and `notFound` where the record is not there or not seen.
    func picture(of address: RecordAddress, _ sight: Sight, _ console: Console) throws -> TreePicture {
        return try session.engine.read { reader in
            guard let found = try reader.zone(zone) else { throw try session.noZone(zone, reader) }
            let source = ZonePictures(found, sight)
            let shares = SharePictures(found, sight, in: reader)
            let root = address.isTop ? nil : try child(address, found, sight, console)
            let bound = try found.recordBound()
            let progress = Progress("counting", total: nil, on: console)
            defer { progress.finish() }
            var folder = TreeFolder(source, limits) { progress.update("records", $0, ofAtMost: bound) }
            let folded = try folder.fold(from: root)
            let owner = try session.owner(of: zone.database, in: reader)
            var picture = TreePicture(
                title: PlaceAddress(zone.database, ownedBy: sight.isWhole ? owner : nil, zone: zone.name).text,
                copyDate: session.copyDate.map { Quantities.date($0) + " UTC" }, nodes: folded.nodes,
                fold: folded.fold, shares: [])
            // Those that are drawn are looked for, then all are counted.
            func lookingAtShares() -> LookCounter { LookCounter { progress.update("shares", $0, ofAtMost: bound) } }
            try addShares(
                named: folded.shares, above: root?.name, to: &picture, shares, sight, looking: lookingAtShares().add)
            if address.isTop {
                let shareCount = try source.shareCount(looking: lookingAtShares().add)
                picture.moreShareCount = max(0, shareCount - picture.shares.count)
            }
            return picture
        }
    }

    private func child(
        _ address: RecordAddress, _ zone: ZoneReader, _ sight: Sight, _ console: Console
    ) throws -> Child {
        let name = try zone.resolve(address, sight, console)
        return Child(name: name, hasChildren: try zone.node(name)?.hasChildren ?? false)
    }

    /// The shares of the nodes first, so that their numbers stay; then the one that covers all that is drawn, or the zone.
    private func addShares(
        named names: [RecordName], above root: RecordName?, to picture: inout TreePicture, _ shares: SharePictures,
        _ sight: Sight, looking: () -> Void
    ) throws {
        for name in names {
            // The mark of a share that has no record is drawn as a share of nobody.
            let unknown = PictureShare(
                name: DisplayText.of(name.text), rootLabel: nil, publicPermission: "unknown", people: [])
            picture.shares.append(try shares.share(name) ?? unknown)
        }
        var covering = try root.flatMap { try shares.zone.shareMembership(of: $0)?.share }
        if let known = covering, names.contains(known) { covering = nil }
        for name in [covering, ShareContent.zoneWideName].compactMap({ $0 }) {
            guard try sight.sees(name), let share = try shares.share(name) else { continue }
            for index in picture.nodes.indices where picture.nodes[index].share == nil {
                picture.nodes[index].share = picture.shares.count
            }
            picture.shares.append(share)
        }
        guard root == nil, picture.shares.count < Self.otherShareCount else { return }
        var known = Set(names)
        known.insert(ShareContent.zoneWideName)
        try shares.zone.visitShareNames(looking: looking) { name in
            guard picture.shares.count < Self.otherShareCount else { return .stop }
            if try !known.contains(name) && sight.sees(name), let share = try shares.share(name) {
                picture.shares.append(share)
            }
            return .next
        }
    }
}
