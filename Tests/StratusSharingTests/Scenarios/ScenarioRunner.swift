// Runs a scenario: builds its world only by CloudKit's calls, and tries every line.

import Foundation
import StratusKit
import StratusSharingSupport

/// The expected and the actual outcome of a scenario's line.
struct ScenarioTrial: Sendable, CustomStringConvertible {
    let file: String
    let line: ScenarioLine
    let deed: Deed
    let outcome: Outcome

    /// Whether the actual outcome equals `expected`.
    func meets(_ expected: ScenarioLine.Expected) -> Bool { expected.isMet(by: outcome) }

    var description: String { "\(file):\(line.number): \(line.text): \(deed) is \(outcome)" }
}

/// One run of a scenario.
struct ScenarioRunner {
    private let scenario: Scenario
    private let town: Town
    private var place: Place?
    /// The place of every zone, record and share.
    private var zones: [String: Place] = [:]
    private var places: [String: Place] = [:]
    /// The record of a share, by its name in the scenario, and its last URL.
    private var shareRecords: [String: String] = [:]
    private var urls: [String: URL] = [:]
    /// Everyone's last fetched version of every record, as an app keeps it.
    private var held: [String: CKRecord] = [:]

    private init(_ scenario: Scenario) throws {
        self.scenario = scenario
        town = try Town(scenario.people)
    }

    /// The outcomes of the lines with expectations.
    ///
    /// Throws `ScenarioError` for a required step that fails, and if the store does not verify afterwards.
    static func trials(of scenario: Scenario) async throws -> [ScenarioTrial] {
        var runner = try ScenarioRunner(scenario)
        var trials: [ScenarioTrial] = []
        for line in scenario.lines { trials += try await runner.carryOut(line) }
        let findings = try runner.town.findings()
        guard findings.isEmpty else {
            throw ScenarioError(
                file: scenario.file, line: scenario.lines.last?.number ?? 0,
                message: "the store does not verify afterwards: \(findings.joined(separator: "; "))")
        }
        return trials
    }

    private mutating func carryOut(_ line: ScenarioLine) async throws -> [ScenarioTrial] {
        func error(_ message: String) -> ScenarioError {
            ScenarioError(file: scenario.file, line: line.number, message: "\(line.text): \(message)")
        }
        switch line.content {
        case .zone(let name, let owner):
            let place = Place(name, of: try person(owner, line))
            self.place = place
            zones[name] = place
            let outcome = await (try person(owner, line)).make(place)
            guard outcome.isDone else { throw error("\(outcome)") }
        case .standing(let name, let isGood):
            try await town.store.setStanding(isGood ? .good : .suspended, of: try person(name, line).account)
        case .deed(let deed, let name):
            let outcome = try await outcome(of: deed, by: try person(name, line), line)
            guard outcome.isDone else { throw error("\(outcome)") }
        case .expectation(let deeds, let name, _):
            var trials: [ScenarioTrial] = []
            for deed in deeds {
                let outcome = try await outcome(of: deed, by: try person(name, line), line)
                trials.append(ScenarioTrial(file: scenario.file, line: line, deed: deed, outcome: outcome))
            }
            return trials
        }
        return []
    }

    // MARK: Names

    private func person(_ name: String, _ line: ScenarioLine) throws -> Person {
        guard let person = town.person(name) else {
            throw ScenarioError(file: scenario.file, line: line.number, message: "there is no person '\(name)'")
        }
        return person
    }

    private func place(of name: String, _ line: ScenarioLine) throws -> Place {
        guard let place = places[name] ?? place else {
            throw ScenarioError(file: scenario.file, line: line.number, message: "there is no zone yet")
        }
        return place
    }

    /// The record with a name: a share's record has its own.
    private func recordName(_ name: String) -> String { shareRecords[name] ?? name }

    // MARK: Deeds

    private mutating func outcome(of deed: Deed, by person: Person, _ line: ScenarioLine) async throws -> Outcome {
        switch deed {
        case .read(let name):
            let place = try place(of: name, line)
            let record = recordName(name)
            let outcome = await person.read(record, in: place)
            if outcome.isDone { held[person.name + "/" + name] = try? await person.record(record, in: place) }
            return outcome
        case .see(let zone): return await person.see(try self.zone(zone, line))
        case .change(let name):
            return await person.change(
                recordName(name), to: line.number, held: held[person.name + "/" + name],
                in: try place(of: name, line))
        case .create(let name, let parent):
            let place = try place(of: parent ?? name, line)
            let outcome = await person.create(name, under: parent, in: place)
            if outcome.isDone { places[name] = place }
            return outcome
        case .move(let name, let parent):
            return await person.move(
                name, under: parent, held: held[person.name + "/" + name], in: try place(of: name, line))
        case .delete(let name): return await person.delete(recordName(name), in: try place(of: name, line))
        case .drop(let zone): return await person.drop(try self.zone(zone, line))
        case .share(let root, let share): return try await outcome(sharing: root, as: share, by: person, line)
        default: return try await shareOutcome(of: deed, by: person, line)
        }
    }

    private func zone(_ name: String, _ line: ScenarioLine) throws -> Place {
        guard let place = zones[name] else { return try place(of: name, line) }
        return place
    }

    private mutating func outcome(
        sharing root: String?, as share: String, by person: Person, _ line: ScenarioLine
    ) async throws -> Outcome {
        let place = try place(of: root ?? "", line)
        let record = root == nil ? CKRecordNameZoneWideShare : share
        let outcome =
            if let root { await person.share(root, as: record, in: place) } else { await person.shareZone(place) }
        guard outcome.isDone else { return outcome }
        shareRecords[share] = record
        places[share] = place
        urls[share] = try await person.shareRecord(record, in: place).url
        return outcome
    }

    private func shareOutcome(of deed: Deed, by person: Person, _ line: ScenarioLine) async throws -> Outcome {
        switch deed {
        case .invite(let other, let share, let permission, let role):
            return await person.invite(
                try self.person(other, line), to: recordName(share), permission: permission, role: role,
                in: try place(of: share, line))
        case .remove(let other, let share):
            return await person.remove(
                try self.person(other, line), from: recordName(share), in: try place(of: share, line))
        case .permit(let other, let share, let permission):
            return await person.change(
                try self.person(other, line), of: recordName(share), in: try place(of: share, line)
            ) { $0.permission = permission }
        case .publish(let share, let permission):
            return await person.publish(recordName(share), permission, in: try place(of: share, line))
        case .rename(let share):
            return await person.rename(recordName(share), line.text, in: try place(of: share, line))
        case .leave(let share): return await person.delete(recordName(share), in: try place(of: share, line))
        default: return try await urlOutcome(of: deed, by: person, line)
        }
    }

    private func urlOutcome(of deed: Deed, by person: Person, _ line: ScenarioLine) async throws -> Outcome {
        switch deed {
        case .accept(let share): return await person.accept(try url(share, line))
        case .ask(let share): return await person.requestAccess(try url(share, line))
        case .allowRequests(let share, let isAllowed):
            return await person.edit(recordName(share), in: try place(of: share, line)) {
                $0.allowsAccessRequests = isAllowed
            }
        case .deny(let other, let share):
            let other = try self.person(other, line)
            return await person.edit(recordName(share), in: try place(of: share, line)) {
                $0.denyRequesters([try found(person.request(of: other, in: $0), line)])
            }
        case .block(let other, let share):
            let other = try self.person(other, line)
            return await person.edit(recordName(share), in: try place(of: share, line)) {
                $0.blockRequesters([try found(person.request(of: other, in: $0), line)])
            }
        case .unblock(let other, let share):
            let other = try self.person(other, line)
            return await person.edit(recordName(share), in: try place(of: share, line)) {
                $0.unblockIdentities([try found(person.block(of: other, in: $0), line)])
            }
        default:
            throw ScenarioError(file: scenario.file, line: line.number, message: "\(deed) is carried out nowhere")
        }
    }

    private func url(_ share: String, _ line: ScenarioLine) throws -> URL {
        guard let url = urls[share] else {
            throw ScenarioError(file: scenario.file, line: line.number, message: "the share '\(share)' has no URL")
        }
        return url
    }

    private func found<Value>(_ value: Value?, _ line: ScenarioLine) throws -> Value {
        guard let value else {
            throw ScenarioError(
                file: scenario.file, line: line.number, message: "the share does not list the person")
        }
        return value
    }
}
