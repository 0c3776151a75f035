// What becomes of a step, part one: zones and records.

package import StratusKit

/// All allowed outcomes of a step. If there are several, none of them changes anything.
package typealias Answers = Set<Outcome>

extension Answers {
    package static let done: Answers = [.done]
    package static func refused(_ codes: CKError.Code...) -> Answers { Set(codes.map { .refused($0) }) }
}

extension SharingOracle {
    /// Applies the step, and returns its outcome.
    package mutating func apply(_ step: SharingStep) -> Answers {
        switch step {
        case .create(let zone):
            if zones[zone] == nil { zones[zone] = OracleZone(birth: nextBirth()) }
            return .done
        case .drop(let zone):
            guard zones.removeValue(forKey: zone) != nil else { return .refused(.zoneNotFound) }
            return .done
        case .suspend(let user):
            suspended.insert(user)
            return .done
        case .restore(let user):
            suspended.remove(user)
            return .done
        // No one knows such a URL yet, so no one asks.
        case .accept(_, let zone, let share) where urls[zone]?[share] == nil: return .done
        case .join(let step) where !isKnown(step): return .done
        default: break
        }
        if let user = step.user, suspended.contains(user), fault != .suspendedSees {
            return .refused(.notAuthenticated)
        }
        switch step {
        case .save(let user, let zone, let name, let above, let value):
            return save(name, above, value, by: user, zone)
        case .delete(let user, let zone, let name): return delete(name, by: user, zone)
        case .join(let step): return apply(step)
        default: return applyToShare(step)
        }
    }

    /// Whether a person knows the URL that a step needs.
    private func isKnown(_ step: JoiningStep) -> Bool {
        switch step.deed {
        case .ask: urls[step.zone]?[step.share] != nil
        case .acceptOnce(let url), .revoke(let url): oneTimeURLs[url] != nil
        default: true
        }
    }

    // MARK: Saving

    private mutating func save(
        _ name: String, _ above: PlacedAbove, _ value: Int, by user: Int, _ zone: Int
    ) -> Answers {
        guard var content = sees(user, zone) else { return .refused(.zoneNotFound) }
        let old = content.records[name]
        let isVisible = old != nil && reads(user, name, zone, content)
        // Participants do not see a root's own parent and do not save it.
        let isForeignRoot = !owns(user, zone) && isVisible && share(ofRoot: name, in: content) != nil
        let parent: String? =
            switch isForeignRoot ? .kept : above {
            case .kept: isVisible ? old?.parent : nil
            case .nothing: nil
            case .record(let parent): parent
            }
        if !owns(user, zone), let refusal = refusal(old, name, under: parent, by: user, zone, content) {
            return refusal
        }
        if let parent, parent != old?.parent || old == nil {
            guard content.records[parent] != nil, !chain(parent, in: content).contains(name) else {
                return .refused(.referenceViolation)
            }
            let isInTree = chain(parent, in: content).contains { share(ofRoot: $0, in: content) != nil }
            if isInTree, hasRoot(atOrBelow: name, in: content), fault != .nestedShares {
                return .refused(.alreadyShared)
            }
        }
        content.records[name] = OracleRecord(parent: parent, value: value, birth: old?.birth ?? nextBirth())
        zones[zone] = content
        return .done
    }

    /// Why a participant may not save a record like this; nil if they may.
    private func refusal(
        _ old: OracleRecord?, _ name: String, under parent: String?, by user: Int, _ zone: Int, _ content: OracleZone
    ) -> Answers? {
        let isZoneShared = content.shares[SharingHistory.zoneShare] != nil
        // A record under itself is refused before any other check.
        if parent == name, !isZoneShared || permission(of: user, in: SharingHistory.zoneShare, content) != .readWrite {
            return .refused(.permissionFailure, .referenceViolation)
        }
        if old != nil {
            // A hidden record with the same name: nothing may be written, and nothing revealed.
            guard reads(user, name, zone, content), writes(user, name, zone, content) else {
                return .refused(.permissionFailure)
            }
        }
        if old != nil, parent == old?.parent { return nil }
        // P-11: a new or moved record must end in a share that they may write.
        if fault == .looseCreation, parent == nil { return nil }
        if isZoneShared {
            let mayWrite = permission(of: user, in: SharingHistory.zoneShare, content) == .readWrite
            return mayWrite ? nil : .refused(.permissionFailure)
        }
        guard let parent else { return .refused(.permissionFailure) }
        if content.records[parent] != nil, chain(parent, in: content).contains(name) {
            // The path up ends nowhere: reported as one thing or the other.
            return .refused(.permissionFailure, .referenceViolation)
        }
        guard content.records[parent] != nil, writes(user, parent, zone, content) else {
            return .refused(.permissionFailure)
        }
        return nil
    }

    // MARK: Deleting

    private mutating func delete(_ name: String, by user: Int, _ zone: Int) -> Answers {
        // A person who has accepted may leave, whatever they see (P-13).
        if let content = zones[zone], content.shares[name]?.member(user)?.hasAccepted == true,
            fault != .nobodyLeavesNothing
        {
            return end(name, by: user, zone, content)
        }
        guard var content = sees(user, zone) else { return .refused(.zoneNotFound) }
        if content.shares[name] != nil { return end(name, by: user, zone, content) }
        guard content.records[name] != nil, reads(user, name, zone, content) else {
            // deleting a missing or hidden record succeeds and does nothing.
            return fault == .unseenDeletionFails ? .refused(.unknownItem) : .done
        }
        let share = share(ofRoot: name, in: content)
        if !owns(user, zone) {
            guard writes(user, name, zone, content) else { return .refused(.permissionFailure) }
            if share != nil, fault != .participantsDeleteRoots { return .refused(.permissionFailure) }
        }
        guard children(of: name, in: content).isEmpty || fault == .parentsCanBeDeleted else {
            return .refused(.referenceViolation)
        }
        content.records[name] = nil
        // SH-11.
        if let share, fault != .rootKeepsShare { content.shares[share] = nil }
        zones[zone] = content
        return .done
    }

    /// The owner stops a share (SH-10), a participant leaves it (P-13); for others there is none.
    private mutating func end(_ name: String, by user: Int, _ zone: Int, _ content: OracleZone) -> Answers {
        var content = content
        if owns(user, zone) || fault == .leavingEndsAll {
            if fault != .stoppingEndsNothing { content.shares[name] = nil }
        } else if content.shares[name]?.member(user)?.hasAccepted == true {
            content.shares[name]?.members.removeAll { $0.user == user }
        }
        zones[zone] = content
        return .done
    }
}

extension SharingStep {
    /// The actor; nil for acts of owners and hosts.
    package var user: Int? {
        switch self {
        case .create, .drop, .suspend, .restore: nil
        case .save(let user, _, _, _, _), .delete(let user, _, _), .share(let user, _, _, _), .shareZone(let user, _),
            .invite(let user, _, _, _, _, _), .remove(let user, _, _, _), .permit(let user, _, _, _, _),
            .publish(let user, _, _, _), .rename(let user, _, _, _), .accept(let user, _, _):
            user
        case .join(let step): step.user
        }
    }
}
