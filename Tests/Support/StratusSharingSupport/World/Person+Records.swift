// People's acts on records.

import Foundation
package import StratusKit

extension Person {
    /// The type of all records of these tests, and its only field.
    package static let recordType = "Item"
    package static let valueKey = "value"

    package func make(_ place: Place) async -> Outcome {
        await Outcome.of { try await database(place).save(CKRecordZone(zoneID: zoneID(place))) }
    }

    package func drop(_ place: Place) async -> Outcome {
        await Outcome.of { try await database(place).deleteRecordZone(withID: zoneID(place)) }
    }

    package func record(_ name: String, in place: Place) async throws -> CKRecord {
        try await database(place).record(for: recordID(name, in: place))
    }

    package func read(_ name: String, in place: Place) async -> Outcome {
        await Outcome.of { _ = try await record(name, in: place) }
    }

    /// Saves a record that is new to this person.
    package func create(_ name: String, under parent: String? = nil, value: Int = 0, in place: Place) async -> Outcome {
        let record = fresh(name, in: place)
        record[Self.valueKey] = value
        if let parent { record.setParent(recordID(parent, in: place)) }
        return await save(record, in: place)
    }

    /// Changes the value of a record: the one that can be fetched; or else the one held from before; or else blindly,
    /// like a client that knows only the name.
    package func change(_ name: String, to value: Int, held: CKRecord? = nil, in place: Place) async -> Outcome {
        let found = try? await record(name, in: place)
        let record = found ?? held ?? fresh(name, in: place)
        record[Self.valueKey] = value
        return await save(record, in: place, policy: found ?? held == nil ? .changedKeys : .ifServerRecordUnchanged)
    }

    /// Moves a record under another, or to the top: the one that can be fetched, else the one held from before, else
    /// blindly.
    package func move(_ name: String, under parent: String?, held: CKRecord? = nil, in place: Place) async -> Outcome {
        let found = try? await record(name, in: place)
        let record = found ?? held ?? fresh(name, in: place)
        record.setParent(parent.map { recordID($0, in: place) })
        return await save(record, in: place, policy: found ?? held == nil ? .changedKeys : .ifServerRecordUnchanged)
    }

    package func delete(_ name: String, in place: Place) async -> Outcome {
        await Outcome.of { _ = try await database(place).deleteRecord(withID: recordID(name, in: place)) }
    }

    /// Whether the zone is one that this person sees, and is in their list.
    package func see(_ place: Place) async -> Outcome {
        await Outcome.of {
            let id = zoneID(place)
            _ = try await database(place).recordZone(for: id)
            guard try await database(place).allRecordZones().contains(where: { $0.zoneID == id }) else {
                throw TownError(description: "the zone \(place) can be fetched and is not in the list")
            }
        }
    }

    package func fresh(_ name: String, in place: Place) -> CKRecord {
        CKRecord(recordType: Self.recordType, recordID: recordID(name, in: place))
    }

    package func save(
        _ record: CKRecord, in place: Place,
        policy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged
    ) async -> Outcome {
        await Outcome.of {
            let answers = try await database(place)
                .modifyRecords(saving: [record], deleting: [], savePolicy: policy).saveResults
            _ = try answers[record.recordID]?.get()
        }
    }
}

/// A fault that no call of CloudKit's reports, and that a test cannot continue from.
package struct TownError: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) { self.description = description }
}
