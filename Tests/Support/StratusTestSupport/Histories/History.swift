// A history: the steps on a store, as plain values. It can be printed and read again (`History+Text`), shortened
// (`HistoryShrinker`) and run on any store (`HistoryRunner`).

package import StratusModel

/// One item of a request in a history. `content` encodes the record's type and fields: see `HistoryContent`.
package enum HistoryItem: Hashable, Sendable {
    case save(name: RecordName, parent: RecordName?, share: RecordName?, content: Int)
    case delete(RecordName)

    package var name: RecordName {
        switch self {
        case .save(let name, _, _, _): name
        case .delete(let name): name
        }
    }
}

/// The items for one zone.
package struct HistoryRequest: Hashable, Sendable {
    /// Which zone: an index into `HistoryContent.zones`.
    package var zone: Int
    package var items: [HistoryItem]

    package init(zone: Int, items: [HistoryItem]) {
        self.zone = zone
        self.items = items
    }
}

/// One transaction: requests applied one after another and committed together.
package struct HistoryCommit: Hashable, Sendable {
    /// What the clock shows and the salt is drawn from.
    package var time: Int
    /// Whether the body throws at its end, so that nothing may remain.
    package var isAborted: Bool
    package var requests: [HistoryRequest]

    package init(time: Int, isAborted: Bool = false, requests: [HistoryRequest]) {
        self.time = time
        self.isAborted = isAborted
        self.requests = requests
    }
}

/// One step on a store.
package enum HistoryStep: Hashable, Sendable {
    case createZone(Int)
    case deleteZone(Int)
    case commit(HistoryCommit)
    /// Closes the store and reopens it, with new caches.
    case reopen
    /// Lets the engine below reorganise its files; nothing on a store without files.
    case compact
    /// Forgets the history of a zone except its last `keep` writes.
    case purgeHistory(zone: Int, keep: Int)
    /// Removes the keys of deleted zones, at most `commits` commits of it.
    case purgeZones(commits: Int)
    /// Holds a snapshot during the next `steps` steps, and checks it after each of them.
    case pin(steps: Int)
}

/// Steps, and the depth limit for them.
package struct History: Hashable, Sendable {
    /// The depth limit of the engine.
    package var depthLimit: Int
    package var steps: [HistoryStep]

    package init(depthLimit: Int, steps: [HistoryStep]) {
        self.depthLimit = depthLimit
        self.steps = steps
    }

    /// Items of all requests together: the length of a history in addition to its steps.
    package var itemCount: Int {
        steps.reduce(0) { count, step in
            guard case .commit(let commit) = step else { return count }
            return count + commit.requests.reduce(0) { $0 + $1.items.count }
        }
    }
}
