// What a schema grants in the public database (S-18).

import StratusCloud
import StratusModel
import StratusStore
import Testing

@Suite("grants of the public database")
struct GrantTests {
    /// A bench whose public database has Alice's record `a` of the type `Note`, with this grant.
    private static func bench(_ grants: String) throws -> RecordBench {
        let bench = try RecordBench()
        try bench.save(.new("a", in: .defaultZone, ["n": .int64(1), "secret": .int64(7)]), in: .public)
        try importGrants(grants, bench)
        return bench
    }

    private static func importGrants(_ grants: String, _ bench: RecordBench) throws {
        let clauses = grants.isEmpty ? "" : ", \(grants)"
        try bench.service.importSchema(
            "DEFINE SCHEMA RECORD TYPE Note ( n INT64, secret INT64\(clauses) );", into: RecordBench.container)
    }

    private static let address = RecordAddress(recordName: "a")

    private enum Person: CaseIterable {
        case creator, other, nobody

        func account(_ bench: RecordBench) -> StoredAccount? {
            switch self {
            case .creator: bench.alice
            case .other: bench.bob
            case .nobody: nil
            }
        }
    }

    /// What a person may do: reading `a`, creating a record, changing `a`, deleting `a`, as `rcwd`.
    private static func abilities(of person: Person, _ bench: RecordBench) throws -> String {
        var abilities = ""
        let caller = bench.caller(person.account(bench))
        func isDone(_ saves: [RecordSave], deleting deletes: [RecordAddress] = []) throws -> Bool {
            let request = ModifyRecordsRequest(saves: saves, deletes: deletes, policy: .changedKeys)
            let answer = try bench.service.modifyRecords(request, as: caller, in: .public)
            let errors = answer.saves.compactMap(\.error) + answer.deletes.compactMap(\.error)
            #expect(errors.allSatisfy { $0.code == .permissionFailure && $0.innerCode == 2007 })
            return errors.isEmpty
        }
        let fetch = FetchRecordsRequest(addresses: [address])
        let fetched = try bench.service.fetchRecords(fetch, as: caller, in: .public).records[0]
        if let error = fetched.error { #expect(error.code == .permissionFailure) } else { abilities += "r" }
        guard person != .nobody else {
            #expect(cloudErrorCode { try isDone([.new("new", in: .defaultZone)]) } == .notAuthenticated)
            return abilities
        }
        if try isDone([.new("new of \(person)", in: .defaultZone)]) { abilities += "c" }
        if try isDone([.new("a", in: .defaultZone, ["n": .int64(2)])]) { abilities += "w" }
        if try isDone([], deleting: [address]) { abilities += "d" }
        return abilities
    }

    @Test(
        "[S-18] READ, CREATE and WRITE grants of everyone, of signed-in users, and of the creator are obeyed",
        arguments: [
            ("", "rcwd", "rc", "r"),
            ("GRANT WRITE TO \"_creator\", GRANT CREATE TO \"_icloud\", GRANT READ TO \"_world\"", "rcwd", "rc", "r"),
            ("GRANT READ TO \"_world\"", "r", "r", "r"),
            ("GRANT READ TO \"_icloud\"", "r", "r", ""),
            ("GRANT READ TO \"_creator\"", "r", "", ""),
            ("GRANT CREATE TO \"_icloud\"", "c", "c", ""),
            ("GRANT CREATE TO \"_creator\"", "", "", ""),
            ("GRANT WRITE TO \"_icloud\"", "wd", "wd", ""),
            ("GRANT WRITE TO \"_creator\"", "wd", "", ""),
            ("GRANT READ, CREATE, WRITE TO \"_icloud\"", "rcwd", "rcwd", ""),
            ("GRANT READ, CREATE, WRITE TO \"_world\"", "rcwd", "rcwd", "r"),
        ])
    func roles(grants: String, creator: String, other: String, nobody: String) throws {
        for (person, expected) in [(Person.creator, creator), (.other, other), (.nobody, nobody)] {
            let bench = try Self.bench(grants)
            #expect(try Self.abilities(of: person, bench) == expected, "\(person)")
        }
    }

    @Test("[S-18] roles that a schema creates are kept and have no members; what only they may do is refused to all")
    func customRoles() throws {
        let bench = try RecordBench()
        try bench.save(.new("a", in: .defaultZone, ["n": .int64(1)]), in: .public)
        try bench.service.importSchema(
            """
            DEFINE SCHEMA CREATE ROLE Editor;
            RECORD TYPE Note ( n INT64, GRANT READ TO "_world", GRANT CREATE, WRITE TO Editor );
            """, into: RecordBench.container)
        #expect(try bench.service.exportSchema(of: RecordBench.container).contains("TO Editor"))
        #expect(try Self.abilities(of: .creator, bench) == "r")
    }

    @Test("[S-18] a caller with WRITE but not READ gets back only what they sent, and nothing of a conflicting record")
    func writingBlindly() throws {
        let bench = try Self.bench("GRANT CREATE, WRITE TO \"_icloud\"")
        let save = RecordSave.new("a", in: .defaultZone, ["n": .int64(2)])
        let answer = try bench.modify([save], policy: .changedKeys, by: bench.bob, in: .public)
        #expect(try answer.saves[0].get().fields == ClientFields(["n": ClientField(.int64(2))]))
        let conflict = try bench.modify([save], by: bench.bob, in: .public).saves[0].error
        #expect(conflict?.code == .serverRecordChanged)
        #expect(conflict?.serverRecord == nil)
        try Self.importGrants("GRANT READ, CREATE, WRITE TO \"_icloud\"", bench)
        let seen = try bench.modify([save], by: bench.bob, in: .public).saves[0].error?.serverRecord
        #expect(seen?.fields["secret"] == ClientField(.int64(7)))
    }

    @Test("[R-08][S-18] deleting a parent in use does not reveal children that the caller cannot read")
    func unreadableChildren() throws {
        let grants = [
            ("GRANT READ, WRITE TO \"_creator\", GRANT CREATE TO \"_icloud\"", false),
            ("GRANT READ, CREATE, WRITE TO \"_icloud\"", true),
        ]
        for (grants, names) in grants {
            let bench = try RecordBench()
            try bench.service.importSchema(
                """
                DEFINE SCHEMA RECORD TYPE Note ( n INT64, GRANT READ, CREATE, WRITE TO "_icloud" );
                RECORD TYPE Diary ( n INT64, \(grants) );
                """, into: RecordBench.container)
            try bench.save(.new("parent", in: .defaultZone), in: .public)
            try bench.save(.new("secret", in: .defaultZone, type: "Diary", parent: "parent"), in: .public)
            let top = RecordAddress(recordName: "parent")
            let error = try bench.modify(deleting: [top], by: bench.bob, in: .public).deletes[0].error
            #expect(error?.code == .referenceViolation)
            #expect(error?.description.contains("secret") == names)
            let own = try bench.modify(deleting: [top], in: .public).deletes[0].error
            #expect(own?.description.contains("secret") == true)
        }
    }

    @Test("[S-17][S-18] an account that may not be used sees what the world sees")
    func standing() throws {
        let bench = try Self.bench("GRANT READ TO \"_icloud\", GRANT READ TO \"_creator\"")
        _ = try bench.service.setStanding(.suspended, of: bench.alice.id)
        #expect(try bench.fetch(Self.address, in: .public).code == .permissionFailure)
        try Self.importGrants("GRANT READ TO \"_world\"", bench)
        #expect(try bench.fetch(Self.address, in: .public).error == nil)
    }

    @Test("[S-15][S-18] grants of user records apply to reading; only their own person changes them")
    func userRecords() throws {
        let bench = try RecordBench()
        let address = RecordAddress(recordName: bench.alice.userName.text)
        func change(by account: StoredAccount) throws -> CloudError.Code? {
            let save = RecordSave.new(address.recordName, in: .defaultZone, type: "Users", ["n": .int64(1)])
            return try bench.modify([save], policy: .changedKeys, by: account, in: .public).saves[0].code
        }
        #expect(try bench.fetch(address, by: bench.bob, in: .public).error == nil)
        try bench.service.importSchema(
            "DEFINE SCHEMA RECORD TYPE Users ( n INT64, GRANT READ TO \"_creator\", GRANT WRITE TO \"_icloud\" );",
            into: RecordBench.container)
        #expect(try bench.fetch(address, by: bench.bob, in: .public).code == .permissionFailure)
        #expect(try bench.fetch(address, in: .public).error == nil)
        #expect(try change(by: bench.bob) == .permissionFailure)
        #expect(try change(by: bench.alice) == nil)
    }

    @Test("[S-18] grants do not affect private databases")
    func privateDatabases() throws {
        let bench = try Self.bench("GRANT READ TO \"_creator\"")
        try bench.makeNotes()
        try bench.save(.new("a", ["n": .int64(1)]))
        #expect(try bench.fetch(.note("a")).error == nil)
        try bench.delete(.note("a"))
    }

    @Test("[S-18] a grant applies from the first request after its import, whatever was read before")
    func changes() throws {
        let bench = try Self.bench("GRANT READ TO \"_world\"")
        for _ in 0..<3 {
            #expect(try bench.fetch(Self.address, by: bench.bob, in: .public).error == nil)
            try Self.importGrants("GRANT READ TO \"_creator\"", bench)
            #expect(try bench.fetch(Self.address, by: bench.bob, in: .public).code == .permissionFailure)
            try Self.importGrants("", bench)
        }
    }
}
