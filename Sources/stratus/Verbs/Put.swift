// stratus put: saves a record.

import ArgumentParser
import Foundation
import StratusKit
import StratusModel

struct Put: PlaceCommand {
    static let configuration = CommandConfiguration(
        abstract: "Creates a record, or changes fields of an existing one.",
        discussion: """
            Fields: \(FieldAssignment.help). A file for --fields holds one JSON object, \
            {KEY:{"type","value","encrypted"}}, as 'stratus get --exact' prints it, with dates in seconds since \
            2001-01-01 UTC and bytes in base 64; lists are {"type":"list","value":[{"type","value"}]}. Other fields \
            stay unchanged.

            --json: {"record","created","changeTag","cost":{…}}

            Example: stratus put note-1 --type Note --set title=Groceries --set count:int64=3 --store ./store
            """)

    @Argument(help: RecordArgument.help)
    var record: RecordArgument

    @Option(help: "The type of a new record.")
    var type: String?

    @Option(
        parsing: .unconditionalSingleValue, help: ArgumentHelp("A field to set; may be repeated.", valueName: "field"))
    var set: [String] = []

    @Option(help: ArgumentHelp("An encrypted field to set; may be repeated.", valueName: "field"))
    var setEncrypted: [String] = []

    @Option(help: ArgumentHelp("A field to remove; may be repeated.", valueName: "key"))
    var unset: [String] = []

    @Option(help: ArgumentHelp("A file of fields, or '-' for standard input.", valueName: "file"), completion: .file())
    var fields: String?

    @Option(help: ArgumentHelp("The new parent, or '/' for none.", valueName: "record"))
    var under: RecordArgument?

    @OptionGroup var store: StoreArguments
    @OptionGroup var zone: ZoneArguments
    @OptionGroup var acting: ActingArguments

    func run() throws {
        let assignments = try set.map { try FieldAssignment($0) }
        let encrypted = try setEncrypted.map { try FieldAssignment($0) }
        let given = try fields.map { try Self.fields(in: $0) } ?? [:]
        try StoreSession.with(store.at(record.place), .existingAsClient) { session, console in
            let zone = try session.zone(zone)
            let client = try session.client(of: zone, acting)
            let name = try self.name(session, console)
            let (record, isNew) = try self.record(name, client)
            let (plain, secret) = (record as any CKRecordKeyValueSetting, record.encryptedValues)
            for (key, field) in given {
                let target = field.isEncrypted ? secret : plain
                target.setObject(try field.value.clientValue(in: client), forKey: key)
            }
            for one in assignments { plain.setObject(try Self.value(of: one, client), forKey: one.key) }
            for one in encrypted { secret.setObject(try Self.value(of: one, client), forKey: one.key) }
            for key in unset { record.setObject(nil, forKey: key) }
            if let under {
                let parent = under.isTop ? nil : try resolve(under, session, console)
                if let parent { record.setParent(client.recordID(parent)) } else { record.parent = nil }
            }
            let (_, cost) = try StepCost.measuring(session) { try client.put(record) }
            try console.line("\(isNew ? "created" : "saved") \(VisibleText.of(name.text))")
            try console.line(cost.summary)
            try console.object([
                "record": name.text, "created": isNew, "changeTag": record.recordChangeTag, "cost": cost.object,
            ])
        }
    }

    /// A record name may be new; a path leads to an existing record.
    private func name(_ session: StoreSession, _ console: Console) throws -> RecordName {
        if case .recordName(let name) = record.form { return name }
        return try resolve(record, session, console)
    }

    private func resolve(
        _ address: RecordArgument, _ session: StoreSession, _ console: Console
    ) throws -> RecordName {
        try session.read(zone, acting) { try $0.resolve(address, $1, console) }
    }

    private func record(_ name: RecordName, _ client: ZoneClient) throws -> (CKRecord, isNew: Bool) {
        do {
            let record = try client.fetch(name)
            if let type, type != record.recordType {
                throw ToolError(
                    .refused,
                    "The record has another type, which cannot change: leave out --type, or name another record.",
                    ["record": name.text, "type": record.recordType])
            }
            return (record, false)
        } catch let error as ItemsRefused where error.errors.values.allSatisfy({ $0.code == .unknownItem }) {
            guard let type else {
                throw ToolError(
                    .notFound, "There is no such record. To create one, give --type.", ["record": name.text])
            }
            return (CKRecord(recordType: type, recordID: client.recordID(name)), true)
        }
    }

    private static func value(of one: FieldAssignment, _ client: ZoneClient) throws -> any CKRecordValue {
        if let path = one.assetPath { return CKAsset(fileURL: URL(fileURLWithPath: path)) }
        return try one.value.clientValue(in: client)
    }

    private static func fields(in file: String) throws -> [String: Field] {
        let text = try TextFile.contents(of: file)
        let parsed = try? JSONSerialization.jsonObject(with: Data(text.utf8))
        guard let object = parsed as? [String: Any] else {
            throw ToolError(.usage, "The file is not a JSON object of fields.", ["file": file])
        }
        return try Dictionary(
            uniqueKeysWithValues: object.map { key, any in
                guard let field = FieldJSON.field(of: any) else {
                    throw ToolError(.usage, "A field must be {\"type\",\"value\"}.", ["file": file, "field": key])
                }
                return (key, field)
            })
    }
}
