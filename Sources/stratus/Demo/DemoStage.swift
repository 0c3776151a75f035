// The people of the demonstration, and the folders of the imported tree that it uses.

import Foundation
import StratusKit
import StratusModel
import StratusRecords

/// The people and the container of one demonstration. A random tag in their names identifies everything that it must
/// remove.
struct DemoCast {
    let container: String
    let owner: PersonArgument
    let guestID: String
    let guestEmail: String

    init() {
        let tag = String(UUID.drawn().uuidString.lowercased().filter { $0 != "-" }.prefix(16))
        container = "iCloud.demonstration-\(tag)"
        owner = PersonArgument("id:owner-of-the-demonstration-\(tag)")
        guestID = "guest-of-the-demonstration-\(tag)"
        guestEmail = "guest-\(tag)@demonstration.example"
    }

    var people: [PersonArgument] { [owner, PersonArgument("id:\(guestID)")] }
}

/// A folder with everything below it.
struct DemoFolder {
    let name: RecordName
    /// The number of records below it, plus one for itself.
    let recordCount: Int
    /// A folder directly in it, if there is one.
    let innerFolder: RecordName?
    /// The deepest record below it; itself if it is empty.
    let deepest: RecordName
}

struct DemoStage {
    /// The top of the tree.
    let top: RecordName
    /// The folder to share: the largest one that contains a folder.
    let shared: DemoFolder
    /// The folder to move and delete: its largest sibling.
    let moved: DemoFolder
    /// The parent of both.
    let base: RecordName

    /// Walks down from the top to the first folder that contains several.
    ///
    /// Throws `refused` if the tree is too small.
    init(below top: RecordName, _ zone: ZoneReader) throws {
        var base = top
        while true {
            let folders = try Self.folders(in: base, zone)
            let withFolders = folders.filter { $0.innerFolder != nil }
            if let shared = withFolders.max(by: { $0.recordCount < $1.recordCount }),
                let moved = folders.filter({ $0.name != shared.name }).max(by: { $0.recordCount < $1.recordCount })
            {
                (self.top, self.base, self.shared, self.moved) = (top, base, shared, moved)
                return
            }
            guard folders.count == 1, let only = folders.first else {
                throw ToolError(
                    .refused,
                    "The tree is too small for the demonstration: choose one with several levels of folders.",
                    ["record": base.text])
            }
            base = only.name
        }
    }

    private static func folders(in base: RecordName, _ zone: ZoneReader) throws -> [DemoFolder] {
        var folders: [DemoFolder] = []
        for child in try zone.children(of: base) where child.hasChildren {
            var count = 1
            var inner: RecordName?
            var deepest = (name: child.name, level: 0)
            try zone.visitSubtree(below: child.name) { record, level in
                count += 1
                if level == 1, record.hasChildren, inner == nil { inner = record.name }
                if level > deepest.level { deepest = (record.name, level) }
                return .next
            }
            folders.append(
                DemoFolder(name: child.name, recordCount: count, innerFolder: inner, deepest: deepest.name))
        }
        return folders
    }
}
