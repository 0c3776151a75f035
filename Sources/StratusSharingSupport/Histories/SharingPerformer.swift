// Carries steps of histories out against a store, by CloudKit's calls alone, and tells what somebody is shown in the
// words in which the oracle tells it.

package import Foundation
package import StratusKit

/// A town in which histories happen.
package struct SharingPerformer {
    package let town: Town
    /// The URL that a share had last, by zone and name, as its owner knows it.
    private var lastURLs: [String: URL] = [:]

    package init(in directory: URL? = nil, change: (inout Stratus.Options) -> Void = { _ in }) throws {
        town = try Town((0..<SharingHistory.userCount).map { "user\($0)" }, in: directory, change: change)
    }

    package func place(_ zone: Int) -> Place { Place(SharingHistory.zoneNames[zone], of: keeper(zone)) }

    private func keeper(_ zone: Int) -> Person { town.people[SharingHistory.owners[zone]] }

    /// Keeps the URL of a share for those who accept it later.
    package mutating func learn(_ url: URL, of share: String, _ zone: Int) { lastURLs["\(zone)/\(share)"] = url }

    /// How the step ends.
    package func carryOut(_ step: SharingStep) async -> Outcome {
        switch step {
        case .create(let zone): return await keeper(zone).make(place(zone))
        case .drop(let zone): return await keeper(zone).drop(place(zone))
        case .suspend(let user), .restore(let user):
            let isGood = if case .restore = step { true } else { false }
            return await Outcome.of {
                try town.store.setStanding(isGood ? .good : .suspended, of: town.people[user].account)
            }
        case .save(let user, let zone, let name, let above, let value):
            return await save(name, above, value, by: town.people[user], place(zone))
        case .delete(let user, let zone, let name): return await town.people[user].delete(name, in: place(zone))
        case .share(let user, let zone, let root, let share):
            return await town.people[user].share(root, as: share, in: place(zone))
        case .shareZone(let user, let zone): return await town.people[user].shareZone(place(zone))
        case .accept(let user, let zone, let share):
            guard let url = lastURLs["\(zone)/\(share)"] else { return .done }
            return await town.people[user].accept(url)
        default: return await edit(step)
        }
    }

    private func edit(_ step: SharingStep) async -> Outcome {
        switch step {
        case .invite(let user, let zone, let share, let other, let permission, let role):
            return await town.people[user].invite(
                town.people[other], to: share, permission: permission, role: role, in: place(zone))
        case .remove(let user, let zone, let share, let other):
            return await town.people[user].remove(town.people[other], from: share, in: place(zone))
        case .permit(let user, let zone, let share, let other, let permission):
            return await town.people[user].change(town.people[other], of: share, in: place(zone)) {
                $0.permission = permission
            }
        case .publish(let user, let zone, let share, let permission):
            return await town.people[user].publish(share, permission, in: place(zone))
        case .rename(let user, let zone, let share, let title):
            return await town.people[user].rename(share, "\(title)", in: place(zone))
        default: return .strange("the step is carried out nowhere")
        }
    }

    /// Saves what can be fetched, else a record that is new to the person. Participants leave a root's parent alone.
    private func save(
        _ name: String, _ above: PlacedAbove, _ value: Int, by person: Person, _ place: Place
    ) async -> Outcome {
        let found = try? await person.record(name, in: place)
        let record = found ?? person.fresh(name, in: place)
        record[Person.valueKey] = value
        if person.owns(place) || record.share == nil {
            switch above {
            case .kept: break
            case .nothing: record.setParent(nil as CKRecord.ID?)
            case .record(let parent): record.setParent(person.recordID(parent, in: place))
            }
        }
        return await person.save(
            record, in: place, policy: found == nil ? .changedKeys : .ifServerRecordUnchanged)
    }
}

extension Town {
    /// What somebody is shown.
    package func view(of record: CKRecord, to user: Int) -> String {
        guard let share = record as? CKShare else {
            return RecordView.text(
                value: record[Person.valueKey] as? Int ?? 0, parent: record.parent?.recordID.recordName,
                share: record.share?.recordID.recordName)
        }
        let participants = share.participants.map { participant in
            let number = people.firstIndex { people[user].isIdentity(participant.userIdentity, of: $0) }
            return RecordView.text(
                user: number ?? -1, role: participant.role, permission: participant.permission,
                hasAccepted: participant.acceptanceStatus == .accepted,
                isSelf: participant.participantID == share.currentUserParticipant?.participantID)
        }
        let title = share[CKShare.SystemFieldKey.title] as? String
        return RecordView.text(
            publicPermission: share.publicPermission, title: title.flatMap { Int($0) }, participants: participants)
    }

    /// Closes the store, on a thread that may wait.
    package func close() async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                self.store.close()
                continuation.resume()
            }
        }
    }
}
