// A history of change feeds: what people do (`SharingStep`), and what readers read meanwhile, as plain values. Readers
// are numbered; each has a token, and the changes it received until then. A reader that is not moved keeps its token,
// and others begin from its position, so that tokens of every age are used.

import StratusKit
import StratusSharingSupport

/// The subject of a person's feed.
enum FeedPlace: Hashable, Sendable {
    case zone(Int)
    /// The zones of the person's private database, and of the shared one.
    case privateZones, sharedZones
}

/// One thing that happens.
enum FeedStep: Hashable, Sendable {
    case act(SharingStep)
    /// A new reader, which has read nothing, or begins at another's position.
    case begin(reader: Int, user: Int, FeedPlace, from: Int?)
    /// One page; with limit 0 as long as the server likes.
    case page(reader: Int, limit: Int)
    /// All pages to the end, without writes in between.
    case finish(reader: Int, limit: Int)
    /// The same by an operation that fetches all changes.
    case operate(reader: Int, limit: Int)
    /// The background work runs.
    case upkeep
    /// A number of days pass, and the background work runs. The store keeps history for thirty.
    case age(days: Int)
}

/// Steps, by `SharingHistory.userCount` people.
struct FeedHistory: Hashable, Sendable {
    var steps: [FeedStep]

    /// The zones in which the history acts.
    var zones: [Int] {
        Set(steps.compactMap { step in if case .act(let act) = step { act.zone } else { nil } }).sorted()
    }
}

extension FeedPlace: CustomStringConvertible {
    var description: String {
        switch self {
        case .zone(let zone): SharingHistory.zoneNames[zone]
        case .privateZones: "private"
        case .sharedZones: "shared"
        }
    }

    init?(word: Substring) {
        switch word {
        case "private": self = .privateZones
        case "shared": self = .sharedZones
        default:
            guard let zone = SharingHistory.zoneNames.firstIndex(of: String(word)) else { return nil }
            self = .zone(zone)
        }
    }
}

// As text, one step per line; people's acts are written like histories of sharing:
//
//     read 12 of 2 in A             a new reader of person 2
//     read 13 of 2 in shared from 9
//     page 12 by 3
//     finish 12 by 0
//     operate 12 by 2
//     upkeep
//     age 20

extension FeedStep: CustomStringConvertible {
    var description: String {
        switch self {
        case .act(let step): "\(step)"
        case .begin(let reader, let user, let place, let from):
            "read \(reader) of \(user) in \(place)" + (from.map { " from \($0)" } ?? "")
        case .page(let reader, let limit): "page \(reader) by \(limit)"
        case .finish(let reader, let limit): "finish \(reader) by \(limit)"
        case .operate(let reader, let limit): "operate \(reader) by \(limit)"
        case .upkeep: "upkeep"
        case .age(let days): "age \(days)"
        }
    }
}

extension FeedHistory: CustomStringConvertible {
    var description: String { steps.map(\.description).joined(separator: "\n") }

    /// Parses the output of `description`. Empty lines and lines that begin with # are skipped.
    init(text: String) throws {
        steps = try text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map(FeedStep.init(line:))
    }
}

extension FeedStep {
    init(line: Substring) throws {
        let words = line.split(separator: " ")
        func number(_ index: Int) -> Int? { words.indices.contains(index) ? Int(words[index]) : nil }
        switch (words.first, words.count) {
        case ("upkeep", 1): self = .upkeep
        case ("age", 2):
            guard let days = number(1) else { throw Self.error(line) }
            self = .age(days: days)
        case ("page", 4), ("finish", 4), ("operate", 4):
            guard let reader = number(1), let limit = number(3) else { throw Self.error(line) }
            switch words[0] {
            case "page": self = .page(reader: reader, limit: limit)
            case "finish": self = .finish(reader: reader, limit: limit)
            default: self = .operate(reader: reader, limit: limit)
            }
        case ("read", 6), ("read", 8):
            guard let reader = number(1), let user = number(3), (0..<SharingHistory.userCount).contains(user),
                let place = FeedPlace(word: words[5]), words.count == 6 || number(7) != nil
            else { throw Self.error(line) }
            self = .begin(reader: reader, user: user, place, from: number(7))
        default:
            guard let step = try SharingHistory(text: String(line)).steps.first else { throw Self.error(line) }
            self = .act(step)
        }
    }

    private static func error(_ line: Substring) -> SharingTextError {
        SharingTextError(description: "no step is written like this: \(line)")
    }
}
