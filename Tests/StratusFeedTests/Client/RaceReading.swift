// What a reader received page by page while others wrote, and what it is compared with afterwards. The same pages with
// a planted fault must be refused.

struct RaceFailure: Error, CustomStringConvertible {
    let description: String
}

/// One page.
struct RacePage: Sendable {
    /// The time before the request, and the time after the answer.
    let begin: Int
    let end: Int
    /// Tags by name.
    var shown: [String: String]
    var deleted: Set<String>
    let isMoreComing: Bool
}

/// A planted fault in the contents of pages.
enum RaceLie: CaseIterable {
    case neverSeenIsShown, neverSeenIsDeleted
    /// What was visible once, and gone before the first page.
    case goneIsShown, goneIsDeleted
    case recordIsLost, oldVersionIsShown

    /// The record that everyone sees and two people change.
    static let changedName = "leaf"

    func tell(_ pages: inout [RacePage], neverSeen: String, gone: String) {
        for index in pages.indices {
            switch self {
            case .neverSeenIsShown where index == 0: pages[index].shown[neverSeen] = "tag"
            case .neverSeenIsDeleted where index == 0: pages[index].deleted.insert(neverSeen)
            case .goneIsShown where index == 0: pages[index].shown[gone] = "tag"
            case .goneIsDeleted where index == 0: pages[index].deleted.insert(gone)
            case .recordIsLost: pages[index].shown[Self.changedName] = nil
            case .oldVersionIsShown where pages[index].shown[Self.changedName] != nil:
                pages[index].shown[Self.changedName] = "old"
            default: break
            }
        }
    }
}

/// Everything that one reader received, and what they can fetch in the end.
struct RaceReading: Sendable {
    let person: String
    let pages: [RacePage]
    /// Tags by name.
    let there: [String: String]
    let times: SeenTimes
    /// A name that this reader could never see.
    let neverSeen: String
    /// A name that they could see before the first page, and not since.
    let gone: String
    /// How often they continued in the middle of their pages after others had written.
    let resumptionCount: Int

    /// Throws `RaceFailure` for the first entry that a page must not contain, planted faults included.
    func check(telling lie: RaceLie? = nil) throws {
        var pages = self.pages
        lie?.tell(&pages, neverSeen: neverSeen, gone: gone)
        var replica: [String: String] = [:]
        var since = pages.first?.begin ?? 0
        for page in pages {
            for name in page.shown.keys.sorted() where page.deleted.contains(name) {
                throw wrong("one page tells \(name) and deletes it")
            }
            for name in page.shown.keys.sorted() where !times.couldSee(name, after: page.begin, until: page.end) {
                throw wrong("\(name) is reported and could not be seen from \(page.begin) to \(page.end)")
            }
            for name in page.deleted.sorted() where !times.couldSee(name, after: since, until: page.end) {
                throw wrong("\(name) is deleted and could not be seen from \(since) to \(page.end)")
            }
            for (name, tag) in page.shown { replica[name] = tag }
            for name in page.deleted { replica[name] = nil }
            // The replica equalled the state at some moment of this page.
            if !page.isMoreComing { since = page.begin }
        }
        for name in Set(replica.keys).union(there.keys).sorted() where replica[name] != there[name] {
            throw wrong("in the end \(name) is \(replica[name] ?? "missing"), and not \(there[name] ?? "missing")")
        }
    }

    private func wrong(_ message: String) -> RaceFailure { RaceFailure(description: "to \(person): \(message)") }
}
