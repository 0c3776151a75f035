// Runs steps of histories on a store, only by CloudKit's calls, and describes what a person sees in the words of the
// oracle.

package import Foundation
package import StratusKit

/// A town in which histories happen.
package struct SharingPerformer {
    package let town: Town
    /// A share's last URL, by zone and name, as its owner knows it.
    private var lastURLs: [String: URL] = [:]
    /// The participants of one-time URLs, with their URLs.
    private var oneTime: [Int: (participant: CKShare.Participant.ID, url: URL)] = [:]

    package init(in directory: URL? = nil, change: (inout Stratus.Options) -> Void = { _ in }) throws {
        town = try Town((0..<SharingHistory.userCount).map { "user\($0)" }, in: directory, change: change)
    }

    package func place(_ zone: Int) -> Place { Place(SharingHistory.zoneNames[zone], of: keeper(zone)) }

    private func keeper(_ zone: Int) -> Person { town.people[SharingHistory.owners[zone]] }

    /// Stores the URL of a share for those who accept it later.
    package mutating func learn(_ url: URL, of share: String, _ zone: Int) { lastURLs["\(zone)/\(share)"] = url }

    /// The outcome of the step.
    package mutating func carryOut(_ step: SharingStep) async -> Outcome {
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
        case .join(let step): return await carryOut(step)
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

    private mutating func carryOut(_ step: JoiningStep) async -> Outcome {
        let (person, share, place) = (town.people[step.user], step.share, place(step.zone))
        switch step.deed {
        case .allowRequests(let isOn):
            return await person.edit(share, in: place) { $0.allowsAccessRequests = isOn }
        case .ask:
            guard let url = lastURLs["\(step.zone)/\(share)"] else { return .done }
            return await person.requestAccess(url)
        case .approve(let other, let permission):
            return await person.approve(town.people[other], for: share, permission: permission, in: place)
        case .deny(let other):
            return await person.answer(town.people[other], of: share, in: place) { $0.denyRequesters([$1]) }
        case .block(let other):
            return await person.answer(town.people[other], of: share, in: place) { $0.blockRequesters([$1]) }
        case .unblock(let other): return await person.unblock(town.people[other], from: share, in: place)
        case .inviteByRecord(let other, let permission):
            return await person.inviteByRecord(town.people[other], to: share, permission: permission, in: place)
        case .inviteOnce(let number, let permission):
            do {
                oneTime[number] = try await person.inviteOnce(to: share, permission: permission, in: place)
                return .done
            } catch { return Outcome(error) }
        case .acceptOnce(let number):
            guard let url = oneTime[number]?.url else { return .done }
            return await person.accept(url)
        case .revoke(let number):
            guard let id = oneTime[number]?.participant else { return .done }
            return await person.remove(participant: id, from: share, in: place)
        }
    }

    /// Saves the record that can be fetched, or else a new one. Participants do not change a root's parent.
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
    /// What a person sees.
    package func view(of record: CKRecord, to user: Int) -> String {
        guard let share = record as? CKShare else {
            return RecordView.text(
                value: record[Person.valueKey] as? Int ?? 0, parent: record.parent?.recordID.recordName,
                share: record.share?.recordID.recordName)
        }
        let participants = share.participants.map { participant in
            let number = people.firstIndex { people[user].isIdentity(participant.userIdentity, of: $0) }
            return RecordView.text(
                user: number, role: participant.role, permission: participant.permission,
                hasAccepted: participant.acceptanceStatus == .accepted,
                isSelf: participant.participantID == share.currentUserParticipant?.participantID,
                isApproved: participant.isApprovedRequester)
        }
        func numbers(_ isPerson: (Person) -> Bool) -> [Int] { people.indices.filter { isPerson(people[$0]) } }
        let title = share[CKShare.SystemFieldKey.title] as? String
        return RecordView.text(
            publicPermission: share.publicPermission, title: title.flatMap { Int($0) }, participants: participants,
            allowsRequests: share.allowsAccessRequests,
            requesters: numbers { people[user].request(of: $0, in: share) != nil },
            blocked: numbers { people[user].block(of: $0, in: share) != nil })
    }

    /// Closes the store, on a thread that may wait.
    package func close() async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                for host in self.hosts { host.close() }
                continuation.resume()
            }
        }
    }
}
