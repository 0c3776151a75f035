// The decisions by themselves: every small case.

import FoundationEssentials
import StratusModel
@testable import StratusRecords
import Testing

@testable import StratusCloud

@Suite("decisions")
struct DecisionTests {
    private static let container = ContainerName("c")
    private static let alice = UserName("_alice")
    private static let bob = UserName("_bob")

    private static func stored(by creator: UserName, type: RecordType = "Note") -> StoredRecord {
        let stamp = Stamp(date: Date(timeIntervalSinceReferenceDate: 0), user: creator)
        return StoredRecord(
            record: Record(name: "r", type: type),
            system: SystemFields(changeSequence: 1, tagSalt: 0, created: stamp, modified: stamp))
    }

    private static func zone(_ name: String, _ database: DatabaseSelector) throws -> ResolvedZone {
        try ScopeVerdict.zone(ZoneAddress(zoneName: name), in: database, container: container, caller: alice)
    }

    @Test("[X-22] an address resolves to its zone, for every database, owner and kind of name")
    func scopes() {
        var lines: [String] = []
        for database in DatabaseSelector.allCases {
            for owner in ["__defaultOwner__", "_alice", "_bob"] {
                for name in ["_defaultZone", "Notes", "_x"] {
                    let address = ZoneAddress(zoneName: name, ownerName: owner)
                    let outcome: String
                    do {
                        let zone = try ScopeVerdict.zone(
                            address, in: database, container: Self.container, caller: Self.alice)
                        outcome = "\(zone.id.database.owner?.text ?? "-") \(zone.address)"
                    } catch { outcome = "\(error.code.rawValue)" }
                    lines.append("\(database) \(owner) \(name): \(outcome)")
                }
            }
        }
        #expect(
            lines == [
                "public __defaultOwner__ _defaultZone: - _defaultZone:__defaultOwner__",
                "public __defaultOwner__ Notes: 26", "public __defaultOwner__ _x: 26",
                "public _alice _defaultZone: - _defaultZone:__defaultOwner__", "public _alice Notes: 26",
                "public _alice _x: 26", "public _bob _defaultZone: 26", "public _bob Notes: 26", "public _bob _x: 26",
                "private __defaultOwner__ _defaultZone: _alice _defaultZone:__defaultOwner__",
                "private __defaultOwner__ Notes: _alice Notes:__defaultOwner__", "private __defaultOwner__ _x: 26",
                "private _alice _defaultZone: _alice _defaultZone:__defaultOwner__",
                "private _alice Notes: _alice Notes:__defaultOwner__", "private _alice _x: 26",
                "private _bob _defaultZone: 12", "private _bob Notes: 12", "private _bob _x: 12",
                "shared __defaultOwner__ _defaultZone: 12", "shared __defaultOwner__ Notes: 12",
                "shared __defaultOwner__ _x: 12", "shared _alice _defaultZone: 12", "shared _alice Notes: 12",
                "shared _alice _x: 12", "shared _bob _defaultZone: 26",
                "shared _bob Notes: _bob Notes:_bob", "shared _bob _x: 26",
            ])
    }

    /// Alice's permissions on a record without grants in the schema; nil for a missing one.
    private static func permissions(creator: UserName?, _ database: DatabaseSelector) -> TypePermissions {
        guard database == .public else { return .all }
        return GrantVerdict.permissions(nil, hasAccount: true, isCreator: creator == alice)
    }

    @Test("[S-15][S-18] who may save and delete which record", arguments: [DatabaseSelector.private, .public])
    func access(database: DatabaseSelector) {
        for userRecordOwner in [nil, Self.alice, Self.bob] {
            for creator in [nil, Self.alice, Self.bob] {
                for (type, storedType) in [("Note", "Note"), ("Note", "Other"), ("Users", "Users"), ("Note", "Users")] {
                    let existing = creator.map { Self.stored(by: $0, type: RecordType(storedType)) }
                    let code = AccessVerdict.saveRefusal(
                        type: RecordType(type), name: "r", existing: existing,
                        permissions: Self.permissions(creator: creator, database), caller: Self.alice,
                        userRecordOwner: userRecordOwner)?.code
                    let expected: CloudError.Code?
                    if userRecordOwner == Self.bob {
                        expected = .permissionFailure
                    } else if userRecordOwner == Self.alice {
                        expected = type == "Users" ? nil : .invalidArguments
                    } else if type == "Users" {
                        expected = .permissionFailure
                    } else if creator == Self.bob, database == .public {
                        expected = .permissionFailure
                    } else {
                        expected = creator != nil && type != storedType ? .invalidArguments : nil
                    }
                    #expect(
                        code == expected,
                        "\(userRecordOwner?.text ?? "-") \(creator?.text ?? "-") \(type) \(storedType)")
                }
                let code = AccessVerdict.deleteRefusal(
                    name: "r", existing: creator.map { Self.stored(by: $0) },
                    permissions: Self.permissions(creator: creator, database), userRecordOwner: userRecordOwner)?.code
                let isRefused = userRecordOwner != nil || creator == Self.bob && database == .public
                #expect(code == (isRefused ? .permissionFailure : nil))
            }
        }
    }

    @Test("[A-02][R-11] how failures spread along every chain of three records")
    func spreading() {
        let own: [CloudError.Code?] = [nil, .serverRecordChanged, .quotaExceeded, .referenceViolation]
        let items: [(name: RecordName, parent: RecordName?)] = [
            ("c", "b"), ("b", "a"), ("a", nil), ("x", "c"), ("d", nil),
        ]
        for top in own {
            for middle in own {
                var errors: [RecordName: CloudError] = [:]
                errors["a"] = top.map { CloudError($0, "own") }
                errors["b"] = middle.map { CloudError($0, "own") }
                let all = FailureSpread.atomicErrors(items, own: errors)
                func below(_ code: CloudError.Code) -> CloudError.Code {
                    switch code {
                    case .quotaExceeded: .quotaExceeded
                    case .referenceViolation, .internalError: .internalError
                    default: .batchRequestFailed
                    }
                }
                let a = top ?? .batchRequestFailed
                let b = middle ?? below(a)
                #expect(all["a"]?.code == a)
                #expect(all["b"]?.code == b)
                #expect(all["c"]?.code == below(b))
                #expect(all["x"]?.code == below(below(b)))
                #expect(all["d"]?.code == .batchRequestFailed)
            }
        }
        // Parents on a cycle end the walk.
        let cycle = FailureSpread.atomicErrors([("a", "b"), ("b", "a"), ("c", "a")], own: [:])
        #expect(cycle.values.allSatisfy { $0.code == .batchRequestFailed })
        #expect(cycle.count == 3)
    }

    @Test("items are sorted parents first, whatever their order")
    func parentsFirst() {
        let tree: [(name: RecordName, parent: RecordName?)] = [
            ("a", nil), ("b", "a"), ("c", "b"), ("d", "a"), ("e", "outside"),
        ]
        for order in Self.permutations(tree.count) {
            let sorted = ZoneBatch.parentsFirst(order.map { tree[$0] })
            #expect(Set(sorted).count == tree.count)
            for (name, parent) in tree {
                guard let parent, let above = sorted.firstIndex(of: parent), let own = sorted.firstIndex(of: name)
                else {
                    continue
                }
                #expect(above < own)
            }
        }
        #expect(ZoneBatch.parentsFirst([("a", "b"), ("b", "a")]).count == 2)
    }

    @Test("[Z-02][Z-06] capabilities and changes of encryption scopes")
    func zones() throws {
        let custom = try Self.zone("Notes", .private)
        #expect(ZoneVerdict.capabilities(of: custom, .perRecord).rawValue == 0b1111)
        #expect(ZoneVerdict.capabilities(of: custom, .perZone).rawValue == 0b1011)
        for database in [DatabaseSelector.private, .public] {
            #expect(ZoneVerdict.capabilities(of: try Self.zone("_defaultZone", database), .perRecord) == [])
        }
        for stored in ZoneEncryptionScope.allCases {
            for sent in ZoneEncryptionScope.allCases {
                #expect((ZoneVerdict.scopeRefusal(stored: stored, sent: sent) == nil) == (stored == sent))
            }
        }
    }

    @Test("every refusal of the record layer maps to an error")
    func refusals() {
        let conflict = ShareConflict(place: .above, root: "root", share: "share")
        let refusals: [(Refusal, CloudError.Code)] = [
            (.parentMissing(parent: "p"), .referenceViolation), (.hasChildren(child: "c"), .referenceViolation),
            (.cycle(parent: "p"), .referenceViolation), (.tooDeep(depthLimit: 3), .limitExceeded),
            (.alreadyShared(conflict), .alreadyShared),
        ]
        for (refusal, code) in refusals { #expect(refusal.error("r").code == code) }
    }

    private static func permutations(_ count: Int) -> [[Int]] {
        guard count > 0 else { return [[]] }
        return permutations(count - 1).flatMap { rest in
            (0...rest.count).map { index in
                var new = rest
                new.insert(count - 1, at: index)
                return new
            }
        }
    }
}
