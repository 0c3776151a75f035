// The decision about a save's tag, exhaustively.

import StratusModel
import Testing

@testable import StratusCloud

@Suite("the verdict on a save")
struct SaveVerdictTests {
    @Test("[S-01][S-02][S-04][S-08] every policy against every state of tag and record", arguments: SavePolicy.allCases)
    func policies(policy: SavePolicy) {
        for baseTag in [nil, "one", "two"] {
            for storedTag in [nil, "one", "two"] {
                let save = RecordSave(
                    address: .init(recordName: "a"), type: "Note", baseTag: baseTag,
                    fields: ["held": ClientField(.int64(1)), "set": ClientField(.int64(2))],
                    changedKeys: ["set", "gone"])
                let verdict = SaveVerdict(save, policy: policy, storedTag: storedTag)
                #expect(Self.text(verdict) == Self.expected(policy, baseTag, storedTag), "\(policy) \(baseTag ?? "-")")
            }
        }
    }

    @Test(
        "[S-03] a share is saved as if with ifServerRecordUnchanged, whatever the policy",
        arguments: SavePolicy.allCases)
    func shares(policy: SavePolicy) {
        let share = RecordSave(address: .init(recordName: "s"), type: "cloudkit.share", baseTag: "old")
        guard case .refused(.changed) = SaveVerdict(share, policy: policy, storedTag: "new") else {
            Issue.record("a stale share was accepted")
            return
        }
        #expect(SaveVerdict.policy(policy, forType: "Note") == policy)
    }

    @Test("the parent is written if it was set, with a new record, and with allKeys unless the client has none")
    func parents() {
        for policy in SavePolicy.allCases {
            for hasParent in [true, false] {
                for isChanged in [true, false] {
                    for isNew in [true, false] {
                        let save = RecordSave(
                            address: .init(recordName: "a"), type: "Note", baseTag: isNew ? nil : "t",
                            parent: hasParent ? .init(target: .init(recordName: "p"), action: .none) : nil,
                            isParentChanged: isChanged)
                        guard
                            case .write(_, let setsParent) = SaveVerdict(
                                save, policy: policy, storedTag: isNew ? nil : "t")
                        else {
                            Issue.record("refused")
                            continue
                        }
                        let sends = isNew || isChanged || policy == .allKeys && hasParent
                        #expect(setsParent == sends)
                    }
                }
            }
        }
    }

    private static func text(_ verdict: SaveVerdict) -> String {
        switch verdict {
        case .write(let keys, _): "write " + keys.sorted().joined(separator: ",")
        case .refused(let reason): "\(reason)"
        }
    }

    /// The table, written out.
    private static func expected(_ policy: SavePolicy, _ base: String?, _ stored: String?) -> String {
        switch (policy, base, stored) {
        case (_, nil, nil): "write gone,held,set"
        case (_, .some, nil): "deleted"
        case (.ifServerRecordUnchanged, nil, .some): "exists"
        case (.changedKeys, nil, .some), (.allKeys, nil, .some): "write gone,held,set"
        case (.ifServerRecordUnchanged, "one", "two"), (.ifServerRecordUnchanged, "two", "one"): "changed"
        case (.ifServerRecordUnchanged, _, _), (.changedKeys, _, _): "write gone,set"
        case (.allKeys, _, _): "write gone,held,set"
        }
    }
}
