// Random contents of shares, sound and unsound, with every part at an edge: missing, empty, long, doubled.

package import StratusModel

/// Draws shares from a generator.
package enum ShareGenerator {
    package static func content(_ random: inout SplitMix64) -> ShareContent {
        ShareContent(
            root: random.isOne(in: 3) ? nil : RecordGenerator.name(&random), token: token(&random),
            publicPermission: random.element(of: ParticipantPermission.allCases),
            allowsAccessRequests: random.isOne(in: 2),
            participants: (0..<random.below(5)).map { _ in participant(&random) },
            requesters: (0..<random.below(3)).map { _ in petitioner(&random) },
            blocked: (0..<random.below(3)).map { _ in petitioner(&random) })
    }

    package static func event(_ random: inout SplitMix64) -> ShareTrailEvent {
        var event = ShareTrailEvent(
            date: RecordGenerator.date(&random), actor: UserName(RecordGenerator.text(&random)),
            kind: random.element(of: ShareEventKind.allCases), share: RecordGenerator.name(&random),
            root: random.isOne(in: 2) ? nil : RecordGenerator.name(&random))
        if random.isOne(in: 2) { event.participant = ParticipantID(RecordGenerator.text(&random)) }
        if random.isOne(in: 2) { event.user = UserName(RecordGenerator.text(&random)) }
        if random.isOne(in: 2) { event.handle = handle(&random) }
        if random.isOne(in: 2) { event.oldPermission = random.element(of: ParticipantPermission.allCases) }
        if random.isOne(in: 2) { event.newPermission = random.element(of: ParticipantPermission.allCases) }
        if random.isOne(in: 2) { event.oldRole = random.element(of: ParticipantRole.allCases) }
        if random.isOne(in: 2) { event.newRole = random.element(of: ParticipantRole.allCases) }
        return event
    }

    package static func token(_ random: inout SplitMix64) -> ShareToken {
        guard let token = ShareToken(bytes: random.bytes(count: ShareToken.byteCount)) else {
            preconditionFailure("A secret has 16 bytes.")
        }
        return token
    }

    private static func participant(_ random: inout SplitMix64) -> ShareParticipant {
        let invitation: ParticipantInvitation? =
            switch random.below(4) {
            case 0: .handle(handle(&random))
            case 1: .userRecord
            case 2: .oneTime(token(&random))
            default: nil
            }
        return ShareParticipant(
            id: ParticipantID(RecordGenerator.text(&random)), role: random.element(of: ParticipantRole.allCases),
            permission: random.element(of: ParticipantPermission.allCases),
            status: random.element(of: AcceptanceStatus.allCases), invitation: invitation,
            user: random.isOne(in: 2) ? nil : UserName(RecordGenerator.text(&random)),
            added: RecordGenerator.date(&random), isApprovedRequester: random.isOne(in: 4))
    }

    private static func petitioner(_ random: inout SplitMix64) -> SharePetitioner {
        SharePetitioner(
            id: ParticipantID(RecordGenerator.text(&random)), user: UserName(RecordGenerator.text(&random)),
            handle: random.isOne(in: 2) ? nil : handle(&random), date: RecordGenerator.date(&random))
    }

    private static func handle(_ random: inout SplitMix64) -> Handle {
        let text = RecordGenerator.text(&random)
        return random.isOne(in: 2) ? .email(text) : .phone(text)
    }
}
