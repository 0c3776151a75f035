// What of a share somebody may know.

import StratusCloud
import StratusModel

/// A share as the server keeps it, without what `SharePortion` leaves out; whole for the host.
struct ShareSight {
    /// Who looks; nil for the host, who sees everything.
    let viewer: UserName?

    private func portion(of content: ShareContent) -> SharePortion? { viewer.map { SharePortion(content, viewer: $0) } }

    func manages(_ content: ShareContent) -> Bool { portion(of: content)?.managesShare ?? true }

    /// The participants that are shown, in the order of the share.
    func participants(of content: ShareContent) -> [ShareParticipant] {
        portion(of: content)?.participants ?? content.participants
    }

    /// The share without what is not to be known.
    func seen(_ content: ShareContent) -> ShareContent {
        guard let portion = portion(of: content), !portion.managesShare else { return content }
        var seen = content
        // How others were invited is for those who manage the share.
        seen.participants = portion.participants.map { one in
            guard one.id != portion.own else { return one }
            var other = one
            other.invitation = nil
            return other
        }
        seen.requesters = portion.requesters
        seen.blocked = portion.blocked
        return seen
    }

    /// Who sees a record of the share, as far as it is to be known.
    func seen(_ audience: RecordAudience, _ content: ShareContent) -> RecordAudience {
        let shown = Dictionary(seen(content).participants.map { ($0.id, $0) }) { first, _ in first }
        var seen = audience
        seen.viewers = audience.viewers.compactMap { viewer in
            guard let participant = viewer.participant else { return viewer }
            var known = viewer
            known.participant = shown[participant.id]
            return known.participant == nil ? nil : known
        }
        seen.excluded = audience.excluded.compactMap { shown[$0.id] }
        seen.invited = audience.invited.compactMap { shown[$0.id] }
        return seen
    }
}
