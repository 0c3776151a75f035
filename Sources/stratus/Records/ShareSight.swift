// What of a share somebody may know.

import StratusCloud
import StratusModel

/// Owner and administrators who have accepted see everybody; others the owner, themselves and those who have accepted, and
/// nobody who asks or is blocked. How others were invited is for those who manage the share.
struct ShareSight {
    /// Who looks; nil for the host, who sees everything.
    let viewer: UserName?

    func manages(_ content: ShareContent) -> Bool {
        guard let viewer else { return true }
        return content.participants.contains {
            $0.user == viewer && $0.status == .accepted && ($0.role == .owner || $0.role == .administrator)
        }
    }

    /// The participants that are shown, in the order of the share.
    func participants(of content: ShareContent) -> [ShareParticipant] {
        if manages(content) { return content.participants }
        return content.participants.filter { $0.role == .owner || $0.status == .accepted || $0.user == viewer }
    }

    /// The share without what is not to be known.
    func seen(_ content: ShareContent) -> ShareContent {
        guard !manages(content) else { return content }
        var seen = content
        seen.participants = participants(of: content).map { one in
            guard one.user != viewer else { return one }
            var other = one
            other.invitation = nil
            return other
        }
        seen.requesters = []
        seen.blocked = []
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
