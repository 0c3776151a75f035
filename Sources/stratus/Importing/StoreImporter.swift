// Imports the lines of an export into a store. It writes records in commits of a few hundred, and keeps existing
// records, so that an interrupted import continues when it is started again.
//
// Invariant: a record is written after its assets are complete.

import Foundation
import StratusCloud
import StratusLayout
import StratusModel
import StratusRecords

struct StoreImporter {
    /// Gets the number of imported accounts, zones and records, and the number of bytes read.
    typealias Listener = (_ count: Int, _ bytes: Int) -> Void

    private static let commitRecordCount = 200
    /// The most bytes of lines in one commit, except for a single larger record.
    private static let commitByteCount = 2 << 20

    private let session: StoreSession
    private let service: CloudService
    private let progress: Listener
    private(set) var counts = TransferCounts()
    /// Records that already existed.
    private(set) var knownRecordCount = 0
    private var zone: ZoneID?
    private var pending: [StoredRecord] = []
    private var pendingByteCount = 0
    /// Assets of the pending records, and of the next record: leased until they are committed.
    private var taken: [UserName: [AssetDescriptor]] = [:]
    private var arrived: [UserName: [AssetDescriptor]] = [:]
    private var content: ArrivingContent?
    /// The directory in which assets are assembled.
    private var directory = FileManager.default.temporaryDirectory

    /// `progress` is called after every line.
    ///
    /// Throws `refused` if the store is not empty, unless `resumes` is set.
    init(
        _ session: StoreSession, resumes: Bool, progress: @escaping Listener
    ) throws {
        self.session = session
        self.progress = progress
        service = try session.service
        let isEmpty = try session.engine.read { reader in
            try reader.containers().isEmpty && reader.entryCount(in: GlobalKeys.keyspace(.schema)) == 0
                && AccountDirectory().accounts(after: nil, limit: 1, in: reader).accounts.isEmpty
        }
        guard isEmpty || resumes else {
            throw ToolError(
                .refused,
                "The store is not empty: import into an empty one, or use --resume to continue an interrupted import.",
                ["store": session.path])
        }
    }

    /// Reads the first line, before the store is created. Returns the announced count; nil if the line has none.
    ///
    /// Throws `damaged` if it is not the first line of an export.
    static func readHead(_ reader: inout LineReader) throws -> Int? {
        guard let line = try reader.next() else { throw cut(reader) }
        let object = try parsed(line, reader.lineNumber)
        guard object.kind == "stratusExport" else { throw object.wrong("stratusExport") }
        return TransferLine.foretoldCount(object)
    }

    private static func cut(_ reader: LineReader) -> ToolError {
        ToolError(
            .damaged, "The export has no last line: it was cut off or interrupted. Export the store again.",
            ["lines": "\(reader.lineNumber)"])
    }

    /// Reads everything after the first line.
    ///
    /// Throws `damaged` for lines that are not from an export, and if the last line is missing.
    mutating func run(_ reader: inout LineReader) throws {
        let scratch = try StoreFiles.Scratch.make(in: FileManager.default.temporaryDirectory.path, for: .importing)
        defer { scratch.remove() }
        directory = URL(fileURLWithPath: scratch.path)
        var isEnded = false
        while let line = try reader.next() {
            if line.isEmpty { continue }
            let object = try Self.parsed(line, reader.lineNumber)
            guard !isEnded else { throw object.wrong("after the end") }
            if object.kind == "end" {
                try flush()
                for (key, count) in [
                    ("records", counts.records), ("accounts", counts.accounts), ("zones", counts.zones),
                    ("contents", counts.contents),
                ] {
                    guard try object.integer(key) == Int64(count) else { throw object.wrong(key) }
                }
                isEnded = true
            } else {
                try take(object, byteCount: line.count)
                // Everything so far is committed, and no asset is incomplete.
                if pending.isEmpty, content == nil { try StopSignal.safePoint() }
            }
            progress(counts.foretoldCount, reader.readByteCount)
        }
        guard isEnded else { throw Self.cut(reader) }
    }

    private static func parsed(_ line: Data, _ number: Int) throws -> TransferObject {
        func object(_ members: [String: Any], _ kind: String) -> TransferObject {
            TransferObject(members: members, line: number, kind: kind)
        }
        let any = try? JSONSerialization.jsonObject(with: line)
        guard let members = any as? [String: Any] else {
            throw object([:], "line").wrong("JSON object")
        }
        if let version = members["stratusExport"] {
            let head = object(members, "stratusExport")
            guard let version = version as? Int else { throw head.wrong("stratusExport") }
            guard version == TransferLine.version else {
                throw ToolError(
                    .refused, "Another version of this tool wrote the export: import it with that version.",
                    ["found": "\(version)", "supported": "\(TransferLine.version)"])
            }
            return head
        }
        guard members.count == 1, let (kind, value) = members.first, let inner = value as? [String: Any] else {
            throw object(members, "line").wrong("one member")
        }
        return object(inner, kind)
    }

    private mutating func take(_ object: TransferObject, byteCount: Int) throws {
        switch object.kind {
        case "record":
            let record = try TransferLine.record(object) {
                if let token = service.makeShareToken() { return token }
                throw ToolError(.refused, "The operating system returned no random numbers.")
            }
            if pending.count >= Self.commitRecordCount || pendingByteCount + byteCount > Self.commitByteCount {
                try flush()
            }
            pending.append(record)
            taken.merge(arrived, uniquingKeysWith: +)
            arrived.removeAll()
            pendingByteCount += byteCount
        case "asset": try takeContent(object)
        case "zone":
            try flush()
            try takeZone(object)
        case "account":
            _ = try service.adoptAccount(TransferLine.account(object))
            counts.accounts += 1
        case "device":
            try service.registerDevice(
                DeviceAddress(account: AccountID(object.string("account")), name: object.string("name")))
        case "schema":
            // Without the list, all types count as learnt.
            try service.importSchema(
                object.string("text"), into: ContainerName(object.string("container")),
                marking: Set(object.optionalStrings("imported").map { RecordType($0) }))
        case "subscription":
            try flush()
            let parts = SubscriptionKeyParts(
                container: ContainerName(try object.string("container")), user: UserName(try object.string("user")),
                database: UInt8(clamping: try object.integer("database")), id: try object.string("id"))
            try service.adoptSubscription(parts, object.bytes("entry"))
        default: throw object.wrong(object.kind)
        }
    }

    private mutating func takeZone(_ object: TransferObject) throws {
        let database = DatabaseID(
            container: ContainerName(try object.string("container")),
            owner: object.optionalString("owner").map { UserName($0) },
            scope: try object.word("scope", among: DatabaseScope.allCases))
        let id = ZoneID(database: database, name: ZoneName(try object.string("name")))
        let created = Stamp(date: try object.date("created"), user: UserName(try object.string("creator")))
        _ = try service.adoptZone(
            id, created: created,
            encryptionScope: object.word("encryptionScope", among: ZoneEncryptionScope.allCases))
        zone = id
        counts.zones += 1
    }

    /// Writes the pending records.
    private mutating func flush() throws {
        guard !pending.isEmpty else { return }
        guard let zone else {
            throw ToolError(.damaged, "A record comes before its zone: export the store again.")
        }
        let new = try service.adoptRecords(pending, in: zone)
        knownRecordCount += pending.count - new
        counts.records += pending.count
        pending.removeAll(keepingCapacity: true)
        pendingByteCount = 0
        for (owner, assets) in taken { service.assets?.release(assets, owner: owner) }
        taken.removeAll()
        try StopSignal.safePoint()
    }

    // MARK: Contents

    private struct ArrivingContent {
        let file: URL
        let handle: FileHandle
        let digest: [UInt8]
        var part: Int64 = 0
        var rest: Int64
    }

    private mutating func takeContent(_ object: TransferObject) throws {
        let digest = Hex.bytes(try object.string("digest")) ?? []
        let (part, data) = (try object.integer("part"), try object.bytes("data"))
        if part == 0 { content = try begin(digest, byteCount: object.integer("byteCount")) }
        guard var arriving = content, arriving.digest == digest, arriving.part == part,
            Int64(data.count) <= arriving.rest
        else { throw object.wrong("part") }
        try arriving.handle.write(contentsOf: Data(data))
        arriving.rest -= Int64(data.count)
        arriving.part += 1
        content = arriving
        guard arriving.rest == 0 else { return }
        content = nil
        try arriving.handle.close()
        defer { try? FileManager.default.removeItem(at: arriving.file) }
        let owner = UserName(try object.string("owner"))
        guard let assets = service.assets else { throw object.wrong("assets") }
        let descriptor = try assets.takeIn(path: arriving.file.path, owner: owner)
        guard descriptor.digest == digest else { throw object.wrong("digest") }
        arrived[owner, default: []].append(descriptor)
        counts.contents += 1
    }

    private func begin(_ digest: [UInt8], byteCount: Int64) throws -> ArrivingContent {
        let file = directory.appendingPathComponent("content")
        guard FileManager.default.createFile(atPath: file.path, contents: nil, attributes: [.posixPermissions: 0o600])
        else {
            throw ToolError(
                .refused, "There is no room for an asset in the temporary directory: make room there.",
                ["directory": directory.path])
        }
        return ArrivingContent(
            file: file, handle: try FileHandle(forWritingTo: file), digest: digest, rest: byteCount)
    }
}
