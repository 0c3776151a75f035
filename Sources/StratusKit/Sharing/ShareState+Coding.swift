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
        guard !coder.isOfApple else {
            // The participants are objects there.
            var rest = base
            rest?.participants = []
            return coder.encodeBlock(rest, forKey: CoderKey.sharing)
        }
        coder.encodeBlock(base ?? ShareFacts(root: rootID?.recordName), forKey: CoderKey.sharing)
    }

    /// What is here now: it stands with the values.
    func encodeEdited(with coder: NSCoder) {
        let added = entries.filter { $0.addedEditNumber != nil }.map(\.participant.participantID)
        var edited = ArchivedShare(
            facts: facts, added: added, denied: deniedEditNumbers.keys.sorted(),
            blocked: blockedEditNumbers.keys.sorted(), unblocked: unblockedEditNumbers.keys.sorted())
        if coder.isOfApple {
            encodeForApple(with: coder)
            edited.facts.participants = []
        }
        coder.encodeBlock(edited, forKey: CoderKey.editedSharing)
    }

    /// Whether an archive says of participants what cannot be read.
    static func isDamaged(in coder: NSCoder) -> Bool {
        hasForeignMembers(in: coder)
            || coder.hasDamagedBlock(ShareFacts.self, forKey: CoderKey.sharing)
            || coder.hasDamagedBlock(ArchivedShare.self, forKey: CoderKey.editedSharing)
    }

    /// Of an archive. One that says nothing of participants has an owner and nobody else.
    init(coder: NSCoder, in zoneID: CKRecordZoneID, mark: ShareMark) {
        if let state = ShareState(ofApple: coder, in: zoneID, mark: mark) {
            self = state
            return
        }
        let base = coder.decodeBlock(ShareFacts.self, forKey: CoderKey.sharing)
        let edited = coder.decodeBlock(ArchivedShare.self, forKey: CoderKey.editedSharing)
        var facts = edited?.facts ?? base ?? ShareFacts(root: nil)
        facts.addMissingOwner()
        self.init(facts, in: zoneID, viewer: nil, mark: mark)
        // What has no URL was never saved.
        self.base = base?.url == nil ? nil : base
        if let edited { adoptChanges(of: edited) }
    }

    /// Takes the changes that an archive holds.
    mutating func adoptChanges(of edited: ArchivedShare) {
        noteAdded(Set(edited.added))
        for id in edited.denied { deniedEditNumbers[id] = nextEditNumber() }
        for id in edited.blocked { blockedEditNumbers[id] = nextEditNumber() }
        for id in edited.unblocked { unblockedEditNumbers[id] = nextEditNumber() }
    }

    mutating func noteAdded(_ added: Set<String>) {
        for index in entries.indices where added.contains(entries[index].participant.participantID) {
            entries[index].addedEditNumber = nextEditNumber()
        }
    }
}
