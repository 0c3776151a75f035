// One of many callers of a server: random requests of every kind, each answer checked at once. All accounts use the
// same names for zones and records, so that any leak between them shows.
//
// What holds for each caller, whatever the others do:
//   - A record holds the name of the account that wrote it. A private one is the caller's own.
//   - The records of a pair are written together, so one fetch shows both with the same number.
//   - A counter is incremented only from the fetched version, so no increment is lost (S-01).
//   - Another account's zone cannot be named, and another's public record not written (S-18).

import Foundation
import StratusCloud
import StratusModel
import StratusStore
import StratusTestSupport

/// An answer that must never occur.
struct WrongAnswer: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// The combined acts of all callers of one account.
final class AccountTally: Sendable {
    struct Counts: Sendable {
        /// Raises of each counter that were acknowledged.
        var raises: [String: Int64] = [:]
        var conflicts = 0
        var requests = 0
    }

    let account: StoredAccount
    private let counts = Locked(Counts())

    init(_ account: StoredAccount) { self.account = account }

    var value: Counts { counts.value }
    func change(_ body: (inout Counts) -> Void) { counts.withLock { body(&$0) } }
}

/// One caller's requests, from a generator of its own.
struct CallerWorkload {
    static let lastingZones = ["Notes", "Photos"]
    static let passingZone = "Passing"
    static let counterCount = 4
    static let pairCount = 3

    let service: CloudService
    let tally: AccountTally
    let others: [StoredAccount]
    let container: ContainerName
    var random: SplitMix64
    /// False plants a fault: pairs are then saved record by record.
    var savesPairsAtomically = true

    private var caller: Caller { Caller(container: container, account: tally.account.id) }
    private var ownName: String { tally.account.userName.text }

    /// Sends `count` requests. Throws `WrongAnswer`, and an error that no request may end with.
    mutating func run(_ count: Int) throws {
        for _ in 0..<count {
            switch random.below(12) {
            case 0...3: try raiseCounter()
            case 4, 5: try savePair()
            case 6, 7: try fetchPair()
            case 8: try usePassingZone()
            case 9: try listZones()
            case 10: try usePublicDatabase()
            default: try reachForOthers()
            }
            tally.change { $0.requests += 1 }
        }
    }

    // MARK: Requests

    private mutating func raiseCounter() throws {
        let name = "counter-\(random.below(Self.counterCount))"
        let address = RecordAddress(
            recordName: name, zone: ZoneAddress(zoneName: random.element(of: Self.lastingZones)))
        let found = try fetch([address])[0]
        var save = RecordSave(address: address, type: "Counter")
        var number: Int64 = 0
        switch found {
        case .success(let record):
            number = try self.number(of: record)
            save.baseTag = record.changeTag
        case .failure(let error): try require(error, [.unknownItem])
        }
        write(number + 1, into: &save)
        let isAtomic = random.isOne(in: 2)
        let answer = try service.modifyRecords(
            ModifyRecordsRequest(saves: [save], isAtomic: isAtomic), as: caller, in: .private)
        switch answer.saves[0] {
        case .success(let saved):
            guard try self.number(of: saved) == number + 1 else { throw WrongAnswer("saved \(saved)") }
            tally.change { $0.raises["\(address)", default: 0] += 1 }
        case .failure(let error):
            try require(error, [.serverRecordChanged])
            guard let server = error.serverRecord, try self.number(of: server) > number else {
                throw WrongAnswer("a conflict with an older record: \(error)")
            }
            tally.change { $0.conflicts += 1 }
        }
    }

    private mutating func savePair() throws {
        let pair = pairAddresses()
        let number = Int64(random.below(1_000_000))
        var saves = pair.map { RecordSave(address: $0, type: "Pair") }
        for index in saves.indices { write(number, into: &saves[index]) }
        if random.isOne(in: 4) {
            // One item that must fail fails the other too.
            saves[random.below(2)].baseTag = "stale"
            let request = ModifyRecordsRequest(saves: saves, isAtomic: savesPairsAtomically)
            let answer = try service.modifyRecords(request, as: caller, in: .private)
            for case .success(let saved) in answer.saves { throw WrongAnswer("half a pair was saved: \(saved)") }
            return
        }
        let request =
            random.isOne(in: 6)
            ? ModifyRecordsRequest(deletes: pair) : ModifyRecordsRequest(saves: saves, policy: .allKeys)
        let answer = try service.modifyRecords(request, as: caller, in: .private)
        for saved in answer.saves { _ = try self.number(of: saved.get()) }
        for deleted in answer.deletes { _ = try deleted.get() }
    }

    private mutating func fetchPair() throws {
        let numbers = try fetch(pairAddresses()).map { found -> Int64? in
            switch found {
            case .success(let record): return try number(of: record)
            case .failure(let error):
                try require(error, [.unknownItem])
                return nil
            }
        }
        guard numbers[0] == numbers[1] else { throw WrongAnswer("half a pair: \(numbers)") }
    }

    private mutating func usePassingZone() throws {
        let zone = ZoneAddress(zoneName: Self.passingZone)
        switch random.below(4) {
        case 0:
            let request = ModifyZonesRequest(saves: [ClientZone(address: zone)])
            _ = try service.modifyZones(request, as: caller, in: .private).saves[0].get()
        case 1:
            let request = ModifyZonesRequest(deletes: [zone])
            if case .failure(let error) = try service.modifyZones(request, as: caller, in: .private).deletes[0] {
                try require(error, [.zoneNotFound])
            }
        default:
            let address = RecordAddress(recordName: "r\(random.below(20))", zone: zone)
            var save = RecordSave(address: address, type: "Passing")
            write(Int64(random.below(9)), into: &save)
            let request = ModifyRecordsRequest(saves: [save], policy: .allKeys)
            switch try service.modifyRecords(request, as: caller, in: .private).saves[0] {
            case .success(let saved): _ = try number(of: saved)
            case .failure(let error): try require(error, [.zoneNotFound])
            }
            switch try fetch([address])[0] {
            case .success(let record): _ = try number(of: record)
            case .failure(let error): try require(error, [.zoneNotFound, .unknownItem])
            }
        }
    }

    private func listZones() throws {
        let zones = try service.fetchZones(.all, as: caller, in: .private)
        let names = Set(try zones.map { try $0.1.get().address.zoneName })
        let expected = Set(Self.lastingZones + [ZoneAddress.defaultZoneName])
        guard names.isSuperset(of: expected), names.subtracting(expected).isSubset(of: [Self.passingZone]) else {
            throw WrongAnswer("zones \(names)")
        }
        for zone in zones where zone.0.ownerName != ZoneAddress.currentUser && zone.0.ownerName != ownName {
            throw WrongAnswer("a zone of \(zone.0.ownerName)")
        }
    }

    private mutating func usePublicDatabase() throws {
        let own = RecordAddress(recordName: "public of \(ownName)")
        var save = RecordSave(address: own, type: "Public")
        write(Int64(random.below(100)), into: &save)
        let request = ModifyRecordsRequest(saves: [save], policy: .allKeys)
        _ = try service.modifyRecords(request, as: caller, in: .public).saves[0].get()
        let other = random.element(of: others)
        let foreign = RecordAddress(recordName: "public of \(other.userName)")
        let found = try service.fetchRecords(FetchRecordsRequest(addresses: [foreign]), as: caller, in: .public)
        switch found.records[0] {
        case .success(let record):
            guard record.fields["owner"]?.value == .string(other.userName.text) else {
                throw WrongAnswer("\(own) wrote \(record)")
            }
            save.address = foreign
            let answer = try service.modifyRecords(
                ModifyRecordsRequest(saves: [save], deletes: [], policy: .allKeys), as: caller, in: .public)
            try requireFailure(answer.saves[0], [.permissionFailure])
        case .failure(let error): try require(error, [.unknownItem])
        }
    }

    /// Names another account's zone, like a lying client.
    private mutating func reachForOthers() throws {
        let other = random.element(of: others)
        let zone = ZoneAddress(zoneName: random.element(of: Self.lastingZones), ownerName: other.userName.text)
        let address = RecordAddress(recordName: "counter-0", zone: zone)
        for database in [DatabaseSelector.private, .shared] {
            for found in try fetch([address], in: database) { try requireFailure(found, nil) }
            var save = RecordSave(address: address, type: "Counter")
            write(-1, into: &save)
            let request = ModifyRecordsRequest(saves: [save], policy: .allKeys)
            // The request as a whole may be refused too.
            let answer = try? service.modifyRecords(request, as: caller, in: database)
            if let answer { try requireFailure(answer.saves[0], nil) }
        }
    }

    // MARK: Checks

    private mutating func pairAddresses() -> [RecordAddress] {
        let zone = ZoneAddress(zoneName: random.element(of: Self.lastingZones))
        let pair = random.below(Self.pairCount)
        return ["left", "right"].map { RecordAddress(recordName: "\($0)-\(pair)", zone: zone) }
    }

    private func fetch(
        _ addresses: [RecordAddress], in database: DatabaseSelector = .private
    ) throws -> [Result<ClientRecord, CloudError>] {
        try service.fetchRecords(FetchRecordsRequest(addresses: addresses), as: caller, in: database).records
    }

    private func write(_ number: Int64, into save: inout RecordSave) {
        save.fields = ["owner": ClientField(.string(ownName)), "number": ClientField(.int64(number))]
        save.changedKeys = ["owner", "number"]
    }

    /// The number of a record that must be the caller's own.
    private func number(of record: ClientRecord) throws -> Int64 {
        guard record.fields["owner"]?.value == .string(ownName),
            case .int64(let number)? = record.fields["number"]?.value
        else { throw WrongAnswer("\(ownName) was given \(record)") }
        return number
    }

    private func require(_ error: CloudError, _ codes: Set<CloudError.Code>) throws {
        guard codes.contains(error.code) else { throw error }
    }

    /// Nil means any code.
    private func requireFailure<Value>(
        _ result: Result<Value, CloudError>, _ codes: Set<CloudError.Code>?
    ) throws {
        switch result {
        case .success(let value): throw WrongAnswer("\(ownName) was given \(value)")
        case .failure(let error):
            if let codes { try require(error, codes) }
        }
    }
}
