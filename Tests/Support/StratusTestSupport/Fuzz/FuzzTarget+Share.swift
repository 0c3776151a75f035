// Fuzzing the values of shares: any bytes are refused, or decode and encode to the same bytes; and no error shows more
// of them than their number, because they contain secrets.

import FoundationEssentials
import StratusLayout
import StratusModel
import StratusStore

extension FuzzTarget {
    package static let share = FuzzTarget(
        name: "share",
        // Versions, roles, permissions, flags and kinds; numbers too long or too large; text that is not UTF-8.
        dictionary: (UInt8(0)...0x20).map { [$0] } + [
            [0x80, 0x00], [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01], [0xC1, 0xBF],
            [0xED, 0xA0, 0x80], [0x01, 0x01, 0x61], [0x00, 0x00, 0x00], [0x01, 0x03, 0x02, 0x04],
        ],
        validInput: { random in
            switch random.below(6) {
            case 0: return ShareEventEntry(ShareGenerator.event(&random)).encoded()
            case 1: return ShareTokenEntry(token: ShareGenerator.token(&random)).encoded()
            case 2:
                return ShareURLEntry(
                    container: ContainerName(RecordGenerator.text(&random)),
                    owner: UserName(RecordGenerator.text(&random)), zone: ZoneName(RecordGenerator.text(&random)),
                    zoneIdentity: random.uuid(), share: RecordGenerator.name(&random),
                    participant: random.isOne(in: 2) ? nil : ParticipantID(RecordGenerator.text(&random))
                ).encoded()
            case 3:
                return AcceptanceEntry(
                    container: ContainerName(RecordGenerator.text(&random)),
                    owner: UserName(RecordGenerator.text(&random)), zone: ZoneName(RecordGenerator.text(&random)),
                    role: random.element(of: ParticipantRole.allCases),
                    permission: random.element(of: ParticipantPermission.allCases),
                    participant: ParticipantID(RecordGenerator.text(&random)), since: RecordGenerator.number(&random),
                    date: RecordGenerator.date(&random)
                ).encoded()
            default: return ShareContentEntry(ShareGenerator.content(&random)).encoded()
            }
        },
        check: { input in
            if let problem = LayoutChecks.record(input) { return .violation(problem) }
            if let problem = lineProblem(input) ?? errorProblem(input) { return .violation(problem) }
            return isRead(input) ? .accepted : .refused
        })

    private static let nobody = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))

    private static func isRead(_ input: [UInt8]) -> Bool {
        (try? ShareContentEntry(decoding: input.span)) != nil || (try? ShareEventEntry(decoding: input.span)) != nil
            || (try? ShareTokenEntry(decoding: input.span)) != nil || (try? ShareURLEntry(decoding: input.span)) != nil
            || (try? AcceptanceEntry(decoding: input.span)) != nil
    }

    private static func lineProblem(_ input: [UInt8]) -> String? {
        let zone = ZoneKeys(database: DatabaseNumber(1), zone: ZoneNumber(1))
        let keys = [
            GlobalKeys.shareURL([1]), GlobalKeys.acceptance(user: "u", zone: nobody, share: "s"), zone.shareToken(nil),
            zone.shareEvent(sequence: 1, index: 0), zone.endedAcceptance(user: "u", ended: 1, share: "s"),
        ]
        for key in keys {
            let line = ValueDescription.text(of: input, forKey: key)
            if let problem = LayoutChecks.unsafeScalar(in: line) { return "\(problem) in \(line)" }
        }
        return nil
    }

    /// An error of a value with secrets contains the number of its bytes, and none of them.
    private static func errorProblem(_ input: [UInt8]) -> String? {
        var errors: [StoreError] = []
        do throws(StoreError) { _ = try ShareContentEntry(decoding: input.span) } catch { errors.append(error) }
        do throws(StoreError) { _ = try ShareTokenEntry(decoding: input.span) } catch { errors.append(error) }
        return errors.first { $0.fields["hex"] != nil }.map { "an error shows bytes: \($0)" }
    }
}
