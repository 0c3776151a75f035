// Whom the demonstration is of, and which folders of an imported tree it works with, found in the store itself.

import Foundation
import StratusKit
import StratusModel
import StratusRecords

/// The people and the container of one demonstration. Each has a tag in its name that no other demonstration and nothing
/// else in the store has, so that whatever bears it can be removed.
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

/// A folder and what lies below it.
struct DemoFolder {
    let name: RecordName
    /// Records below it, itself included.
    let recordCount: Int
    /// A folder directly in it, if there is one.
    let innerFolder: RecordName?
    /// The record furthest below it; itself if it is empty.
    let deepest: RecordName
}

struct DemoStage {
    /// The top of the tree.
    let top: RecordName
    /// The folder that is shared: the largest one that has a folder in it.
    let shared: DemoFolder
    /// The folder that is moved and deleted: the largest other one beside it.
    let moved: DemoFolder
    /// The folder that both lie in.
    let base: RecordName

    /// Goes down from the top to the first folder that has several in it.
    ///
    /// Throws `refused` when the tree is too small to show anything.
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
                    "The tree is too small for the demonstration: choose one with several folders in folders.",
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
