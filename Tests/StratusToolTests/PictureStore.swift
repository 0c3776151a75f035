// Stores for pictures: a household that shares its lists, and one whose names try to break a page; for paths, one with
// wide folders.

import Foundation
import StratusKit

enum PictureStore {
    /// One row of a store: a record, its parent, and its label.
    struct Row {
        var name: String
        var parent: String?
        var label: String
        var type = "Item"
    }

    /// A household's lists and photos, two of them shared with others. Its owner is anna, its zone "home".
    static func makeHousehold(at path: String) async throws {
        let anna = try Owner(of: path, zone: "home")
        defer { anna.close() }
        var rows = [
            Row(name: "home", parent: nil, label: "Home", type: "Folder"),
            Row(name: "groceries", parent: "home", label: "Groceries", type: "List"),
            Row(name: "holiday", parent: "home", label: "Holiday", type: "Folder"),
            Row(name: "packing", parent: "holiday", label: "Packing list", type: "List"),
            Row(name: "photos", parent: "holiday", label: "Photos of the coast", type: "Album"),
            Row(name: "diary", parent: "home", label: "Diary", type: "List"),
        ]
        for (index, label) in ["Milk", "Rye bread", "Apples"].enumerated() {
            rows.append(Row(name: "groceries-\(index)", parent: "groceries", label: label))
        }
        for (index, label) in ["Tent", "Stove"].enumerated() {
            rows.append(Row(name: "packing-\(index)", parent: "packing", label: label))
        }
        for index in 1...60 {
            rows.append(
                Row(name: "photo-\(index + 100)", parent: "photos", label: "IMG_0\(index + 100).jpg", type: "Photo"))
        }
        for index in 1...12 { rows.append(Row(name: "day-\(index + 10)", parent: "diary", label: "Day \(index)")) }
        try await anna.save(rows)
        let groceries = try await anna.share("groceries", as: "share-groceries")
        try await anna.invite("ben", to: groceries, .readWrite, accepts: true)
        try await anna.invite("cleo", to: groceries, .readOnly, accepts: false)
        let photos = try await anna.share("photos", as: "share-photos")
        try await anna.invite("dora", to: photos, .readOnly, accepts: true)
        try await anna.invite("ben", to: photos, .readOnly, accepts: true)
        try await anna.open(photos, for: .readOnly)
    }

    /// Changes the household everywhere but in the photos and their share: records and a deleted one, a zone, a share,
    /// and a new person.
    static func changeBeside(at path: String) async throws {
        let anna = try Owner(of: path, zone: "home")
        defer { anna.close() }
        let plans = (0..<40).map { Row(name: "plan-\($0)", parent: "home", label: "Secret plans", type: "Plan") }
        try await anna.save(plans)
        try await anna.delete("plan-0")
        let share = try await anna.share("plan-1", as: "share-plans")
        try await anna.invite("emil", to: share, .readWrite, accepts: true)
        try await anna.makeZone("elsewhere")
    }

    /// A folder of many at the top, a folder of as many in it, and next to it one whose name differs from its record
    /// name. Their owner is anna, their zone "home".
    static func makeWide(at path: String, childCount: Int) async throws {
        let anna = try Owner(of: path, zone: "home")
        defer { anna.close() }
        try await anna.save([
            Row(name: "wide", parent: nil, label: "wide", type: "Folder"),
            Row(name: "aside", parent: nil, label: "Aside", type: "Folder"),
        ])
        for parent in ["wide", "wide-7"] {
            let children = (0..<childCount).map { Row(name: "\(parent)-\($0)", parent: parent, label: "child \($0)") }
            try await anna.save(children)
        }
    }

    /// No literal can hold them.
    private static let noncharacters = [0xFFFE, 0xFFFF, 0xFDD0].compactMap { Unicode.Scalar(UInt32($0)) }
        .reduce(into: "") { $0.unicodeScalars.append($1) }

    /// Names that break pages which do not escape them, and how a page must show them.
    static let hostileNames: [(label: String, shown: String)] = [
        ("<script>document.title='owned'</script>", "<script>document.title='owned'</script>"),
        ("<img src=x onerror=console.error(1)>", "<img src=x onerror=console.error(1)>"),
        ("\"><svg onload=console.error(2)>", "\"><svg onload=console.error(2)>"),
        ("' onmouseover='console.error(3)", "' onmouseover='console.error(3)"),
        ("]]> and --> and &amp; &#x3c; </title></style>", "]]> and --> and &amp; &#x3c; </title></style>"),
        (
            "controls \u{1}\u{8}\u{1B}[31m\r\n\t\u{7F}\u{85}",
            "controls \\u{1}\\u{8}\\u{1b}[31m\\u{d}\\u{a}\\u{9}\\u{7f}\\u{85}"
        ),
        ("nothing \u{0} behind", "nothing \\u{0} behind"),
        ("bidi \u{202E}txt.exe\u{202C} \u{2066}x\u{2069}", "bidi \\u{202e}txt.exe\\u{202c} \\u{2066}x\\u{2069}"),
        ("no characters " + noncharacters, "no characters \\u{fffe}\\u{ffff}\\u{fdd0}"),
        ("\u{301}\u{301} a mark first", "\u{25CC}\u{301}\u{301} a mark first"),
        ("zalgo a" + String(repeating: "\u{36F}", count: 40), "zalgo a" + String(repeating: "\u{36F}", count: 6)),
        ("emoji 👩‍👩‍👧‍👦 🏳️‍🌈 𝔘𝔫𝔦 日本語", "emoji 👩‍👩‍👧‍👦 🏳️‍🌈 𝔘𝔫𝔦 日本語"),
        ("שלום עולם (1)", "שלום עולם (1)"),
        ("\\N \\G \\l \" \\", "\\N \\G \\l \" \\"),
        ("  spaces   inside  ", "  spaces   inside  "),
        (String(repeating: "long ", count: 900), String(repeating: "long ", count: 40) + "…"),
        ("${HOME} `id` $(id) %s %n javascript:alert(4)", "${HOME} `id` $(id) %s %n javascript:alert(4)"),
        ("", "(empty)"),
    ]

    /// A store with such names in every place for names. Its owner is anna, its zone "home".
    static func makeHostile(at path: String) async throws {
        let anna = try Owner(of: path, zone: "home")
        defer { anna.close() }
        var rows = [Row(name: "top", parent: nil, label: "Names & <others>", type: "Folder")]
        for (index, name) in hostileNames.enumerated() {
            let folder = "folder-\(index + 10)"
            rows.append(Row(name: folder, parent: "top", label: name.label, type: "Folder"))
            rows.append(Row(name: "\(folder)-child", parent: folder, label: name.label))
        }
        rows.append(
            Row(name: "<b onclick='x'>\"&amp;", parent: "top", label: "a record name with markup", type: "List"))
        for index in 0..<300 {
            rows.append(Row(name: "many-\(index + 1_000)", parent: "top", label: "one of many \(index)"))
        }
        try await anna.save(rows)
        for (index, name) in ["<script>alert(1)</script>", "S\"2'&", "share-c", "share-d"].enumerated() {
            let share = try await anna.share("folder-\(index + 10)", as: name)
            try await anna.invite(
                "<i>eve</i> \"quoted\"", to: share, index == 0 ? .readWrite : .readOnly, accepts: true)
            try await anna.invite("mallory-\(index)", to: share, .readOnly, accepts: false)
            if index == 1 { try await anna.open(share, for: .readWrite) }
        }
    }
}

/// A person who creates a store and shares its contents.
private final class Owner {
    private let store: Stratus
    private let container: CKContainer
    private let zoneID: CKRecordZone.ID
    private var hasZone = false

    init(of path: String, zone: String) throws {
        var options = Stratus.Options()
        options.logger = nil
        options.upkeepIntervalSeconds = nil
        store = try Stratus.open(at: URL(fileURLWithPath: path), options: options)
        let account = try store.account(externalID: "anna", createIfMissing: .init(emails: ["anna@example.com"]))
        container = store.container("iCloud.default", signedInAs: account)
        zoneID = CKRecordZone.ID(zoneName: zone)
    }

    func close() { store.close() }

    private func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zoneID) }

    func save(_ rows: [PictureStore.Row]) async throws {
        if !hasZone { _ = try await container.privateCloudDatabase.save(CKRecordZone(zoneID: zoneID)) }
        hasZone = true
        let records = rows.map { row in
            let record = CKRecord(recordType: row.type, recordID: id(row.name))
            record["name"] = row.label
            if let parent = row.parent { record.setParent(id(parent)) }
            return record
        }
        try await save(records)
    }

    private func save(_ records: [CKRecord]) async throws {
        let answer = try await container.privateCloudDatabase.modifyRecords(
            saving: records, deleting: [], savePolicy: .allKeys, atomically: true)
        for result in answer.saveResults.values { _ = try result.get() }
    }

    func makeZone(_ name: String) async throws {
        _ = try await container.privateCloudDatabase.save(CKRecordZone(zoneName: name))
    }

    func delete(_ name: String) async throws {
        _ = try await container.privateCloudDatabase.deleteRecord(withID: id(name))
    }

    func share(_ name: String, as share: String) async throws -> CKShare {
        let root = try await container.privateCloudDatabase.record(for: id(name))
        let made = CKShare(rootRecord: root, shareID: id(share))
        try await save([root, made])
        return made
    }

    /// Admits everyone who has the share's URL.
    func open(_ share: CKShare, for permission: CKShare.ParticipantPermission) async throws {
        try await store.setPublicPermission(permission, of: share.recordID, in: container)
    }

    func invite(
        _ person: String, to share: CKShare, _ permission: CKShare.ParticipantPermission, accepts: Bool
    ) async throws {
        let email = person.filter { $0.isLetter || $0.isNumber } + "@example.com"
        let account = try await store.account(externalID: person, createIfMissing: .init(emails: [email]))
        let changed = try await store.invite(
            [CKUserIdentity.LookupInfo(emailAddress: email)], to: share.recordID, in: container, permission: permission)
        guard accepts, let url = changed.url else { return }
        _ = try await store.open(url, as: account)
    }
}
