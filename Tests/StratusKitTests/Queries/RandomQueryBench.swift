// A store with an owner's two zones, a shared folder with a guest, and all that is in them as plain values: the subject
// of random queries, page by page, while records are added, changed and deleted. If it has several hosts, each request
// goes to another one than the request before.

import Foundation
import StratusKit
import StratusRecords
import StratusStore
import StratusTestSupport

/// What the store answered otherwise than looking at every record does.
struct QueryMismatch: Error, CustomStringConvertible {
    var description: String
}

struct RandomQueryBench {
    private static let containerID = "iCloud.com.example.queries"
    /// The number of queries between two changes.
    private static let questionCount = 10
    private static let pageLimits = [3, 7, 15, 40, CKQueryOperation.maximumResults]

    private let hosts: [Stratus]
    private let turn = Locked(0)
    private let clock: Stratus.ManualClock
    private let accounts: [NaivePerson: Stratus.Account]
    private let fault: NaiveFault?
    /// The marks of the schema, in production, where nothing is shared; nil in development.
    private let marks: NaiveMarks?
    private var dice: NaiveDice
    private var records: [NaiveRecord] = []
    /// In half seconds.
    private var now = 0
    private(set) var answeredCount = 0
    private(set) var refusedCount = 0
    private(set) var foundCount = 0
    private(set) var pageCount = 0

    /// An open store; the caller closes it with `close`.
    init(_ random: SplitMix64, isProduction: Bool = false, fault: NaiveFault? = nil) throws {
        var dice = NaiveDice(random: random)
        let clock = Stratus.ManualClock(now: NaiveQueryWriter.start)
        func settings(_ options: inout Stratus.Options) {
            options.clock = .manual(clock)
            options.schemaMode = isProduction ? .production : .development
        }
        hosts = try Stratus.testedHosts(settings) ?? [Stratus.inMemory(options: .tested(settings))]
        let store = hosts[0]
        let owner = try store.createAccount(.init(emails: ["test@example.com"]), externalID: "test")
        let marks = isProduction ? dice.marks() : nil
        if let marks { try store.importSchema(Self.schema(marks), intoContainer: Self.containerID) }
        let guest = try store.createAccount(.init(emails: ["guest@example.com"]), externalID: "guest")
        accounts = [.owner: owner, .guest: guest]
        (self.clock, self.dice, self.fault, self.marks) = (clock, dice, fault, marks)
    }

    func close() async throws {
        let hosts = hosts
        try await onThread { for host in hosts { host.close() } }
    }

    /// Runs a number of queries. Throws `QueryMismatch` at the first wrong answer.
    mutating func run(queryCount: Int) async throws {
        try await prepare()
        for number in 0..<queryCount {
            if number % Self.questionCount == 0 { try await change() }
            try await ask()
        }
    }

    // MARK: Names

    /// The host whose turn it is.
    private func nextHost() -> Stratus { hosts[turn.takeNext() % hosts.count] }

    private func container(_ person: NaivePerson) throws -> CKContainer {
        guard let account = accounts[person] else { throw QueryMismatch(description: "nobody is \(person)") }
        return nextHost().container(Self.containerID, signedInAs: account)
    }

    private func database(_ person: NaivePerson) throws -> CKDatabase {
        let container = try container(person)
        return person == .owner ? container.privateCloudDatabase : container.sharedCloudDatabase
    }

    private func zoneID(_ zone: NaiveZone, for person: NaivePerson) -> CKRecordZone.ID {
        guard person == .guest, let owner = accounts[.owner] else { return CKRecordZone.ID(zoneName: zone.rawValue) }
        return CKRecordZone.ID(zoneName: zone.rawValue, ownerName: owner.userRecordName)
    }

    private func id(_ zone: NaiveZone, _ name: String, for person: NaivePerson) -> CKRecord.ID {
        CKRecord.ID(recordName: name, zoneID: zoneID(zone, for: person))
    }

    /// A record or a person, as a caller names it.
    private func address(_ value: NaiveValue, for person: NaivePerson) -> CKRecord.ID {
        switch value {
        case .link(let zone, let name): id(zone, name, for: person)
        case .person(let other) where other != person:
            CKRecord.ID(recordName: accounts[other]?.userRecordName ?? "")
        default: CKRecord.ID(recordName: CKCurrentUserDefaultName)
        }
    }

    // MARK: Changes

    /// The zones, the skeleton of the hierarchy with all fields, and the share.
    private mutating func prepare() async throws {
        let owned = try database(.owner)
        for zone in NaiveZone.allCases { try await owned.save(CKRecordZone(zoneName: zone.rawValue)) }
        var saved: [CKRecord] = []
        for (index, name) in NaiveDice.skeleton.enumerated() {
            let parent = index == 0 ? nil : NaiveDice.skeleton[index - 1]
            let record = NaiveRecord(
                zone: .folders, name: name, fields: dice.fields(in: .folders, isWhole: true), parent: parent,
                created: now, modified: now, creator: .owner, modifier: .owner)
            records.append(record)
            saved.append(
                filled(
                    CKRecord(recordType: NaiveQuery.recordType, recordID: id(.folders, name, for: .owner)), record,
                    .owner))
        }
        guard marks == nil else {
            try await save(saved, deleting: [], as: .owner)
            return
        }
        let share = CKShare(rootRecord: saved[1])
        let participant = try await container(.owner).shareParticipant(forEmailAddress: "guest@example.com")
        participant.permission = .readWrite
        share.addParticipant(participant)
        try await save(saved + [share], deleting: [], as: .owner)
        guard let url = share.url else { throw QueryMismatch(description: "the share has no URL") }
        let guests = try container(.guest)
        _ = try await guests.accept(try await guests.shareMetadata(for: url))
    }

    /// A record with all values of the plain one, and nothing else.
    private func filled(_ record: CKRecord, _ plain: NaiveRecord, _ person: NaivePerson) -> CKRecord {
        for field in NaiveField.stored {
            switch plain.fields[field] {
            case nil: record[field.rawValue] = nil as String?
            case .text(let text)?: record[field.rawValue] = text
            case .number(let halves, true)?: record[field.rawValue] = Int64(halves / 2)
            case .number(let halves, false)?: record[field.rawValue] = Double(halves) / 2
            case .date(let halves)?: record[field.rawValue] = NaiveQueryWriter.date(halves)
            case .texts(let texts)?: record[field.rawValue] = texts
            case .link(let zone, let name)?:
                record[field.rawValue] = CKRecord.Reference(recordID: id(zone, name, for: person), action: .none)
            case .person?: continue
            }
        }
        // The participant does not see the root's parent, and does not change it.
        guard person == .owner || plain.name != NaiveQuery.root else { return record }
        let parent = plain.parent.map { id(plain.zone, $0, for: person) }
        if record.parent?.recordID != parent { record.setParent(parent) }
        return record
    }

    private func save(_ saved: [CKRecord], deleting: [CKRecord.ID], as person: NaivePerson) async throws {
        let answers = try await database(person).modifyRecords(saving: saved, deleting: deleting)
        for answer in answers.saveResults.values { _ = try answer.get() }
        for answer in answers.deleteResults.values { try answer.get() }
    }

    /// A person's request, and upkeep now and then, which builds indexes.
    private mutating func change() async throws {
        clock.advance(by: 1)
        now += 2
        let person: NaivePerson = marks == nil && dice.random.isOne(in: 4) ? .guest : .owner
        let visible = NaiveQuery(clauses: [], sorts: [], asker: person, zone: nil, fault: nil).results(of: records)
        var saved: [CKRecord] = []
        var deleted: [CKRecord.ID] = []
        for _ in 0..<(3 + dice.random.below(8)) {
            let zone: NaiveZone = person == .guest || dice.random.isOne(in: 2) ? .folders : .notes
            let name = dice.random.element(of: NaiveDice.names + (zone == .folders ? NaiveDice.skeleton : []))
            let id = id(zone, name, for: person)
            guard !deleted.contains(id), !saved.contains(where: { $0.recordID == id }) else { continue }
            let index = records.firstIndex { $0.zone == zone && $0.name == name }
            let isVisible = visible.contains { $0.zone == zone && $0.name == name }
            // The participant does not know what is not shared.
            guard index == nil || isVisible else { continue }
            let isFixed = NaiveDice.skeleton.contains(name)
            if let index, !isFixed, dice.random.isOne(in: 4) {
                deleted.append(id)
                records.remove(at: index)
                continue
            }
            let plain = changed(index.map { records[$0] }, zone, name, by: person, isFixed: isFixed)
            var record = CKRecord(recordType: NaiveQuery.recordType, recordID: id)
            if let index {
                record = try await database(person).record(for: id)
                records[index] = plain
            } else {
                records.append(plain)
            }
            saved.append(filled(record, plain, person))
        }
        if !saved.isEmpty || !deleted.isEmpty { try await save(saved, deleting: deleted, as: person) }
        let host = nextHost()
        if dice.random.isOne(in: 8) { try await onThread { try host.performUpkeep() } }
    }

    private mutating func changed(
        _ known: NaiveRecord?, _ zone: NaiveZone, _ name: String, by person: NaivePerson, isFixed: Bool
    ) -> NaiveRecord {
        var record =
            known
            ?? NaiveRecord(zone: zone, name: name, created: now, modified: now, creator: person, modifier: person)
        record.fields = dice.fields(in: zone)
        (record.modified, record.modifier) = (now, person)
        guard zone == .folders, !isFixed else { return record }
        if person == .owner {
            record.parent = dice.random.element(of: [nil, NaiveQuery.root, "shelf"] as [String?])
        } else if known == nil {
            record.parent = dice.random.element(of: [NaiveQuery.root, "shelf"])
        }
        return record
    }

    // MARK: Questions

    private mutating func ask() async throws {
        let asker: NaivePerson = marks == nil && dice.random.isOne(in: 3) ? .guest : .owner
        var query = dice.query(asker, latest: now, fault: fault)
        if let marks { query.searchedFields = marks.searchable }
        var writer = NaiveQueryWriter(SplitMix64(seed: dice.random.next())) { [self] in address($0, for: asker) }
        let format = writer.format(query)
        let asked = CKQuery(
            recordType: NaiveQuery.recordType,
            predicate: NSPredicate(format: format, argumentArray: writer.arguments))
        asked.sortDescriptors = query.sorts.map { NSSortDescriptor(key: $0.key, ascending: $0.isAscending) }
        let question =
            "\(asker) asks \(query.zone?.rawValue ?? "all zones") for \(format) \(writer.arguments), "
            + "sorted by \(query.sorts.map { "\($0.key) \($0.isAscending ? "up" : "down")" })"
        let expected = query.results(of: records).map { id($0.zone, $0.name, for: asker) }
        let refusals = marks.map { query.refusals($0) } ?? []
        do {
            let found = try await pages(of: asked, query.zone, asker)
            guard !query.isNoQuestion, refusals.isEmpty else {
                throw QueryMismatch(
                    description: "\(question): answered, and should be refused with \(refusals.sorted())")
            }
            guard Self.isSame(found, expected, isSorted: !query.sorts.isEmpty) else {
                throw QueryMismatch(
                    description: "\(question):\nfound    \(Self.text(found))\nexpected \(Self.text(expected))")
            }
            answeredCount += 1
            foundCount += found.count
        } catch let error as CKError {
            guard error.code == .invalidArguments,
                query.isNoQuestion || refusals.contains(error.localizedDescription)
            else {
                throw QueryMismatch(
                    description: "\(question): refused with \(error), and not with \(refusals.sorted())")
            }
            refusedCount += 1
        }
    }

    /// All results, page by page.
    private mutating func pages(
        of query: CKQuery, _ zone: NaiveZone?, _ asker: NaivePerson
    ) async throws -> [CKRecord.ID] {
        let desiredKeys: [CKRecord.FieldKey]? = dice.random.element(of: [nil, [], ["text"]])
        let limit = dice.random.element(of: Self.pageLimits)
        var page = try await database(asker).records(
            matching: query, inZoneWith: zone.map { zoneID($0, for: asker) }, desiredKeys: desiredKeys,
            resultsLimit: limit)
        var found: [CKRecord.ID] = []
        var doneCount = 0
        while true {
            pageCount += 1
            for (id, result) in page.matchResults {
                guard try result.get().recordID == id else { throw QueryMismatch(description: "\(id) is another") }
                found.append(id)
            }
            guard let cursor = page.queryCursor else { return found }
            guard cursor.work.doneCount >= max(doneCount, found.count) else {
                throw QueryMismatch(
                    description: "\(query) has found \(found.count) and done \(doneCount), and now \(cursor.work)")
            }
            doneCount = cursor.work.doneCount
            guard found.count <= 2 * (records.count + 1) else {
                throw QueryMismatch(description: "\(query) does not end")
            }
            page = try await database(asker).records(
                continuingMatchFrom: cursor, desiredKeys: desiredKeys,
                resultsLimit: dice.random.element(of: Self.pageLimits))
        }
    }

    private static func isSame(_ found: [CKRecord.ID], _ expected: [CKRecord.ID], isSorted: Bool) -> Bool {
        // Every result once, so comparing sets would not suffice.
        isSorted ? found == expected : found.count == expected.count && Set(found) == Set(expected)
    }

    private static func text(_ ids: [CKRecord.ID]) -> String {
        ids.map { "\($0.zoneID.zoneName)/\($0.recordName)" }.joined(separator: " ")
    }

    // MARK: The schema

    /// A schema in the form of a `.ckdb` file.
    private static func schema(_ marks: NaiveMarks) -> String {
        let types: [(NaiveField, String)] = [
            (.text, "STRING"), (.count, "INT64"), (.weight, "DOUBLE"), (.due, "TIMESTAMP"), (.tags, "LIST<STRING>"),
            (.owner, "REFERENCE"), (.name, "REFERENCE"), (.created, "TIMESTAMP"), (.modified, "TIMESTAMP"),
            (.creator, "REFERENCE"), (.modifier, "REFERENCE"),
        ]
        let lines = types.map { field, type in
            let indexes = [
                marks.queryable.contains(field) ? " QUERYABLE" : "", marks.sortable.contains(field) ? " SORTABLE" : "",
                marks.searchable.contains(field) ? " SEARCHABLE" : "",
            ]
            return "\"\(field.rawValue)\" \(type)\(indexes.joined()),"
        }
        return """
            DEFINE SCHEMA
                RECORD TYPE \(NaiveQuery.recordType) (
                    \(lines.joined(separator: "\n        "))
                    GRANT WRITE TO "_creator", GRANT CREATE TO "_icloud", GRANT READ TO "_world"
                );
            """
    }
}
