// The entries outside a zone that a share requires, and those that a change of the share writes.

import Foundation
@testable import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("entries of shares")
struct ShareEntriesTests {
    private static let date = Date(timeIntervalSinceReferenceDate: 800_000_000)
    private static let place = SharePlace(
        container: "iCloud.com.example", owner: "_alice", zone: "Notes",
        zoneIdentity: UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)), share: "Share-1")

    private static func participant(
        _ user: UserName?, _ role: ParticipantRole = .privateUser, _ permission: ParticipantPermission = .readWrite,
        _ status: AcceptanceStatus = .accepted, _ invitation: ParticipantInvitation? = .userRecord
    ) -> ShareParticipant {
        ShareParticipant(
            id: ParticipantID("p-\(user?.text ?? "nobody")"), role: role, permission: permission, status: status,
            invitation: invitation, user: user, added: date)
    }

    private static func content(
        _ participants: [ShareParticipant], publicPermission: ParticipantPermission = .none
    ) -> ShareContent {
        ShareContent(
            root: "root", token: ShareStage.token(1), publicPermission: publicPermission,
            participants: [participant("_alice", .owner, invitationless: true)] + participants)
    }

    private static func participant(
        _ user: UserName, _ role: ParticipantRole, invitationless: Bool
    ) -> ShareParticipant {
        participant(user, role, .readWrite, .accepted, nil)
    }

    @Test(
        "everyone who has accepted has an acceptance, except the owner; public users have the public permission (X-14)"
    )
    func acceptances() {
        let content = Self.content(
            [
                Self.participant("_bob", .administrator, .readOnly),
                Self.participant("_carol", .privateUser, .none),
                Self.participant("_dave", .privateUser, .readWrite, .pending),
                Self.participant("_erin", .publicUser, .readWrite),
                Self.participant(nil, .privateUser, .readWrite, .accepted),
            ], publicPermission: .readOnly)
        let found = content.accepted
        #expect(Set(found.keys) == ["_bob", "_carol", "_erin"])
        let access = SharedAccess(role: .administrator, permission: .readOnly)
        #expect(found["_bob"] == AcceptedPart(access: access, participant: "p-_bob"))
        #expect(found["_erin"]?.access.permission == .readOnly)
        #expect(found["_carol"]?.access.isAdmitted == false)
        #expect(found["_erin"]?.access.isAdmitted == true)
    }

    @Test("a share has an entry for its URL and for every one-time URL, used or not, and no key contains a secret")
    func urls() throws {
        let used = Self.participant("_bob", .privateUser, .readOnly, .accepted, .oneTime(ShareStage.token(2)))
        let unused = Self.participant(nil, .privateUser, .readOnly, .pending, .oneTime(ShareStage.token(3)))
        let entries = ShareEntries.urlEntries(of: Self.content([used, unused]), at: Self.place)
        let decoded = try entries.map { try ShareURLEntry(decoding: $0.value.span) }
        #expect(decoded.map(\.participant) == [nil, used.id, unused.id])
        for (entry, token) in zip(entries, (1...3).map { ShareStage.token($0) }) {
            #expect(entry.key == GlobalKeys.shareURL(ShareEntries.digest(of: token)))
            #expect(!Hex.text(entry.key + entry.value).contains(Hex.text(token.bytes)))
        }
    }

    @Test("the digest of a secret is its SHA-256")
    func digest() throws {
        let token = try #require(ShareToken(bytes: Array(0..<16)))
        #expect(
            Hex.text(ShareEntries.digest(of: token))
                == "be45cb2605bf36bebde684841a28f0fd43c69850a3dce5fedba69928ee3a8991")
    }

    @Test("a continuing viewer keeps the date of acceptance; a former one is reported with it")
    func times() throws {
        let sees = Self.content([Self.participant("_bob"), Self.participant("_carol")])
        var change = try Self.apply(from: nil, to: sees, sequence: 5)
        #expect(change.since == ["_bob": 5, "_carol": 5])
        #expect(change.ended.isEmpty)
        // Another permission and role, but still seeing; and a person who no longer sees.
        let other = Self.content([
            Self.participant("_bob", .administrator, .readOnly), Self.participant("_carol", .privateUser, .none),
        ])
        change = try Self.apply(from: sees, to: other, sequence: 9, change)
        #expect(change.since == ["_bob": 5, "_carol": 9])
        #expect(change.ended == [EndedAcceptance(user: "_carol", began: 5)])
        #expect(change.dates == ["_bob": Self.date + 5, "_carol": Self.date + 5])
        // One sees again, the other leaves.
        let third = Self.content([Self.participant("_carol")])
        change = try Self.apply(from: other, to: third, sequence: 12, change)
        #expect(change.since == ["_carol": 12])
        #expect(change.ended == [EndedAcceptance(user: "_bob", began: 5)])
        // A person who saw nothing is not reported.
        change = try Self.apply(from: third, to: other, sequence: 14, change)
        change = try Self.apply(from: other, to: nil, sequence: 15, change)
        #expect(change.since.isEmpty)
        #expect(change.ended == [EndedAcceptance(user: "_bob", began: 14)])
        #expect(change.entries.isEmpty)
    }

    @Test("unchanged entries are neither read nor written")
    func untouched() throws {
        let many = (0..<50).map { Self.participant(UserName("_\($0)")) }
        let old = Self.content(many)
        var new = old
        new.participants[7].permission = .readOnly
        var asked: [UserName] = []
        let difference = try ShareEntries.difference(
            from: old, to: new, at: Self.place, sequence: 9, date: Self.date
        ) { user in
            asked.append(user)
            return AcceptanceEntry(
                container: "c", owner: "o", zone: "z", role: .privateUser, permission: .readWrite, participant: "p",
                since: 3, date: Self.date)
        }
        #expect(asked == ["_6"])
        #expect(difference.set.count == 1)
        #expect(difference.deleted.isEmpty)
        #expect(difference.ended.isEmpty)
        let same = try ShareEntries.difference(
            from: old, to: old, at: Self.place, sequence: 9, date: Self.date, stored: { _ in nil })
        #expect(same == ShareEntriesDifference())
    }

    @Test("a missing acceptance is corruption, not a new participant")
    func missing() {
        let old = Self.content([Self.participant("_bob")])
        let error = #expect(throws: StoreError.self) {
            _ = try ShareEntries.difference(
                from: old, to: nil, at: Self.place, sequence: 9, date: Self.date, stored: { _ in nil })
        }
        #expect(error?.code == .corruption)
    }

    @Test("after any history of changes, the entries are exactly those of the last content")
    func histories() throws {
        let seed = SplitMix64.announced("entries of shares")
        for index in 0..<300 {
            var random = seed.generator(forCase: index)
            var state = Applied()
            var content: ShareContent?
            for step in 1...12 {
                let next = random.isOne(in: 5) ? nil : Self.randomContent(&random)
                state = try Self.apply(from: content, to: next, sequence: UInt64(step), state)
                content = next
                let keys = next.map { Set(ShareEntries.keys(of: $0, at: Self.place)) } ?? []
                #expect(Set(state.entries.keys) == keys)
                let parts = next.map { $0.accepted } ?? [:]
                #expect(try state.parts() == parts)
            }
        }
    }

    private static func randomContent(_ random: inout SplitMix64) -> ShareContent {
        var participants: [ShareParticipant] = []
        for user in ["_bob", "_carol", "_dave"] as [UserName] where random.isOne(in: 2) {
            participants.append(
                participant(
                    user, random.element(of: [.administrator, .privateUser, .publicUser]),
                    random.element(of: ParticipantPermission.allCases),
                    random.element(of: AcceptanceStatus.allCases),
                    random.isOne(in: 2) ? .oneTime(ShareStage.token(2 + random.below(3))) : .userRecord))
        }
        return content(participants, publicPermission: random.element(of: ParticipantPermission.allCases))
    }

    /// The entries in a store to which changes were applied.
    private struct Applied {
        var entries: [[UInt8]: [UInt8]] = [:]
        var ended: [EndedAcceptance] = []

        var acceptances: [UserName: AcceptanceEntry] {
            var found: [UserName: AcceptanceEntry] = [:]
            for (key, value) in entries {
                guard let user = (try? GlobalKeys.readAcceptanceKey(key.span))?.user else { continue }
                guard GlobalKeys.acceptances(of: user).contains(key) else { continue }
                found[user] = try? AcceptanceEntry(decoding: value.span)
            }
            return found
        }

        var since: [UserName: UInt64] { acceptances.mapValues(\.since) }
        var dates: [UserName: Date] { acceptances.mapValues(\.date) }

        func parts() throws -> [UserName: AcceptedPart] {
            acceptances.mapValues { AcceptedPart(access: SharedAccess($0), participant: $0.participant) }
        }
    }

    private static func apply(
        from old: ShareContent?, to new: ShareContent?, sequence: UInt64, _ state: Applied = Applied()
    ) throws -> Applied {
        var state = state
        let before = state.acceptances
        let difference = try ShareEntries.difference(
            from: old, to: new, at: place, sequence: sequence, date: date + Double(sequence)
        ) { before[$0] }
        for entry in difference.set { state.entries[entry.key] = entry.value }
        for key in difference.deleted { state.entries[key] = nil }
        state.ended = difference.ended
        return state
    }
}
