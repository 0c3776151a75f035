// Makes a record the root of a share, and ends that: the mark of the root, the share's record with its owner alone, and all
// that exists because of it, in one transaction, as the server writes it.

import Foundation
import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords

extension RecordChange {
    /// Makes a record the root of a share of this name, or with nil no root any more: its share is deleted. Returns the
    /// share it was the root of.
    ///
    /// Throws `RequestRefused`, with nothing changed, when it is in another share or one lies below it, `unknownRecord`,
    /// and `refused` where the share cannot be: in the default zone, in a zone that is shared as a whole, or under a name
    /// that a record has.
    static func setShare(
        _ share: RecordName?, of name: RecordName, in zone: ZoneID, _ session: StoreSession
    ) throws -> RecordName? {
        let drawn = try ShareDraw(owner: zone.database.owner)
        let request = session.request([], in: zone)
        return try session.engine.transact { transaction in
            let reader = try transaction.existingZone(zone)
            guard let root = try reader.record(name)?.record else {
                throw RecordsError(
                    .unknownRecord, "No such record: check its name and its zone.",
                    ["record": name.text, "zone": zone.name.text])
            }
            guard root.share != share else { return root.share }
            let writer = try ShareWriter(session.acceptances, to: reader, in: transaction)
            var request = request
            let change: ShareChange?
            if let share {
                try checkName(share, in: reader)
                let content = drawn.content(root: name, token: try writer.token(of: name))
                change = ShareChange(share: share, old: nil, new: content)
                request.mutations = [.save(Record(name: share, type: ShareContent.recordType).with(content))]
            } else {
                change = try stopped(root.share, in: reader)
                request.mutations = change.map { [.delete($0.share)] } ?? []
            }
            var marked = root
            marked.share = share
            request.mutations.append(.save(marked))
            let plan = try session.apply(request, in: zone, transaction)
            if let change {
                try writer.carryOut(writer.settlement(of: [change], with: plan, stamp: request.stamp))
            }
            return root.share
        }
    }

    private static func checkName(_ share: RecordName, in zone: ZoneReader) throws {
        guard zone.id.name.text != ZoneAddress.defaultZoneName else {
            throw ToolError(.refused, "Nothing is shared in the default zone: choose another.")
        }
        guard try zone.node(share) == nil else {
            throw ToolError(.refused, "A record has the name of the share: choose another.", ["share": share.text])
        }
        guard try share != ShareContent.zoneWideName && zone.node(ShareContent.zoneWideName) == nil else {
            throw ToolError(.refused, "The zone is shared as a whole, or the name is that of such a share.")
        }
    }

    /// The end of a root's share; nil where there is a mark alone.
    private static func stopped(_ share: RecordName?, in zone: ZoneReader) throws -> ShareChange? {
        guard let share, let content = try zone.record(share)?.record.shareContent() else { return nil }
        return ShareChange(share: share, old: content, new: nil)
    }
}

/// What is drawn for a new share, before its transaction, whose body may run twice.
private struct ShareDraw {
    private let token: ShareToken
    private let owner: ShareParticipant

    init(owner: UserName?) throws {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<ShareToken.byteCount).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        guard let owner, let token = ShareToken(bytes: bytes) else {
            throw ToolError(.refused, "Records are shared in private databases alone.")
        }
        self.token = token
        self.owner = ShareParticipant(
            id: ParticipantID(UUID().uuidString), role: .owner, permission: .readWrite, status: .accepted, user: owner,
            added: Date())
    }

    /// A private share of a root, under the secret that the root has already, if any.
    func content(root: RecordName, token: ShareToken?) -> ShareContent {
        ShareContent(root: root, token: token ?? self.token, participants: [owner])
    }
}
