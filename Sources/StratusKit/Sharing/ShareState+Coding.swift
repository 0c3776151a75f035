// How a share's people stand in an archive.
//
// Everything an archive says is a claim: the server resolves it anew when the share is saved. An archive that was
// edited by hand decodes to whatever it says, with one owner to show.

import Foundation

/// A share's people with the changes that were not saved.
struct ArchivedShare: Codable, Sendable {
    var facts: ShareFacts
    /// The identifiers of the participants whom the client has added.
    var added: [String]
    var denied: [String]
    var blocked: [String]
    var unblocked: [String]
}

extension ShareState {
    /// What the server said last: it stands with the system fields.
    func encodeBase(with coder: NSCoder) {
        coder.encodeBlock(base ?? ShareFacts(root: rootID?.recordName), forKey: CoderKey.sharing)
    }

    /// What is here now: it stands with the values.
    func encodeEdited(with coder: NSCoder) {
        let added = entries.filter { $0.addedEditNumber != nil }.map(\.participant.participantID)
        coder.encodeBlock(
            ArchivedShare(
                facts: facts, added: added, denied: deniedEditNumbers.keys.sorted(),
                blocked: blockedEditNumbers.keys.sorted(), unblocked: unblockedEditNumbers.keys.sorted()),
            forKey: CoderKey.editedSharing)
    }

    /// Of an archive. One that says nothing of participants has an owner and nobody else.
    init(coder: NSCoder, in zoneID: CKRecordZoneID, mark: ShareMark) {
        let base = coder.decodeBlock(ShareFacts.self, forKey: CoderKey.sharing) ?? ShareFacts(ofApple: coder)
        let edited = coder.decodeBlock(ArchivedShare.self, forKey: CoderKey.editedSharing)
        var facts = edited?.facts ?? base ?? ShareFacts(root: nil)
        facts.addMissingOwner()
        self.init(facts, in: zoneID, viewer: nil, mark: mark)
        // What has no URL was never saved.
        self.base = base?.url == nil ? nil : base
        guard let edited else { return }
        let added = Set(edited.added)
        for index in entries.indices where added.contains(entries[index].participant.participantID) {
            entries[index].addedEditNumber = nextEditNumber()
        }
        for id in edited.denied { deniedEditNumbers[id] = nextEditNumber() }
        for id in edited.blocked { blockedEditNumbers[id] = nextEditNumber() }
        for id in edited.unblocked { unblockedEditNumbers[id] = nextEditNumber() }
    }
}
