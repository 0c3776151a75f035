// Histories as text, one step a line:
//
//     create A / drop A / suspend 2 / restore 2
//     0 save A b value 7            under what it is under
//     0 save A b under a value 7    or: under - value 7
//     2 delete A b
//     0 share A a as s4
//     0 share-zone A
//     0 invite A s4 2 read-only privateUser
//     0 remove A s4 2
//     0 permit A s4 2 read-write
//     0 publish A s4 nothing
//     1 rename A s4 9
//     2 accept A s4
//
// Beside those of `JoiningStep`.

package import StratusKit

/// A line of a history's text with an unknown statement.
package struct SharingTextError: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) { self.description = description }
}

extension SharingStep: CustomStringConvertible {
    package var description: String {
        func zoneName(_ zone: Int) -> String { SharingHistory.zoneNames[zone] }
        switch self {
        case .create(let zone): return "create \(zoneName(zone))"
        case .drop(let zone): return "drop \(zoneName(zone))"
        case .suspend(let user): return "suspend \(user)"
        case .restore(let user): return "restore \(user)"
        case .save(let user, let zone, let name, let above, let value):
            let place =
                switch above {
                case .kept: ""
                case .nothing: " under -"
                case .record(let parent): " under \(parent)"
                }
            return "\(user) save \(zoneName(zone)) \(name)\(place) value \(value)"
        case .delete(let user, let zone, let name): return "\(user) delete \(zoneName(zone)) \(name)"
        case .share(let user, let zone, let root, let share):
            return "\(user) share \(zoneName(zone)) \(root) as \(share)"
        case .shareZone(let user, let zone): return "\(user) share-zone \(zoneName(zone))"
        case .invite(let user, let zone, let share, let other, let permission, let role):
            let who = role == .administrator ? "administrator" : "privateUser"
            return "\(user) invite \(zoneName(zone)) \(share) \(other) \(permission.words) \(who)"
        case .remove(let user, let zone, let share, let other):
            return "\(user) remove \(zoneName(zone)) \(share) \(other)"
        case .permit(let user, let zone, let share, let other, let permission):
            return "\(user) permit \(zoneName(zone)) \(share) \(other) \(permission.words)"
        case .publish(let user, let zone, let share, let permission):
            return "\(user) publish \(zoneName(zone)) \(share) \(permission.words)"
        case .rename(let user, let zone, let share, let title):
            return "\(user) rename \(zoneName(zone)) \(share) \(title)"
        case .accept(let user, let zone, let share): return "\(user) accept \(zoneName(zone)) \(share)"
        case .join(let step): return step.description
        }
    }
}

extension SharingHistory: CustomStringConvertible {
    package var description: String { steps.map(\.description).joined(separator: "\n") }

    /// Parses the output of `description`. Empty lines and lines that begin with # are skipped.
    package init(text: String) throws {
        steps = []
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            var words = StepWords(line: line)
            steps.append(try words.step())
            try words.end()
        }
    }
}

/// The words of one line, from left to right.
struct StepWords {
    let line: Substring
    private var words: ArraySlice<Substring>

    init(line: Substring) {
        self.line = line
        words = line.split(separator: " ")[...]
    }

    mutating func step() throws -> SharingStep {
        switch words.first {
        case "create":
            words.removeFirst()
            return .create(zone: try zone())
        case "drop":
            words.removeFirst()
            return .drop(zone: try zone())
        case "suspend":
            words.removeFirst()
            return .suspend(user: try user())
        case "restore":
            words.removeFirst()
            return .restore(user: try user())
        default: return try stepOfUser()
        }
    }

    private mutating func stepOfUser() throws -> SharingStep {
        let user = try user()
        let verb = try word()
        let zone = try zone()
        switch verb {
        case "save":
            let name = try word()
            var above = PlacedAbove.kept
            if words.first == "under" {
                words.removeFirst()
                let parent = try word()
                above = parent == "-" ? .nothing : .record(parent)
            }
            guard try word() == "value" else { throw error("'value' is missing") }
            return .save(user: user, zone: zone, name: name, above: above, value: try number())
        case "delete": return .delete(user: user, zone: zone, name: try word())
        case "share":
            let root = try word()
            guard try word() == "as" else { throw error("'as' is missing") }
            return .share(user: user, zone: zone, root: root, share: try word())
        case "share-zone": return .shareZone(user: user, zone: zone)
        case "accept": return .accept(user: user, zone: zone, share: try word())
        default: break
        }
        let share = try word()
        if let deed = try joiningDeed(verb) { return .join(JoiningStep(user: user, zone: zone, share: share, deed)) }
        switch verb {
        case "invite":
            let other = try self.user()
            let permission = try permission()
            let role: Role = try word() == "administrator" ? .administrator : .privateUser
            return .invite(user: user, zone: zone, share: share, other: other, permission, role)
        case "remove": return .remove(user: user, zone: zone, share: share, other: try self.user())
        case "permit":
            let other = try self.user()
            return .permit(user: user, zone: zone, share: share, other: other, try permission())
        case "publish": return .publish(user: user, zone: zone, share: share, try permission())
        case "rename": return .rename(user: user, zone: zone, share: share, title: try number())
        default: throw error("no step begins like this")
        }
    }

    func end() throws {
        if !words.isEmpty { throw error("there are words too many") }
    }

    func error(_ message: String) -> SharingTextError {
        SharingTextError(description: "\(message): \(line)")
    }

    mutating func word() throws -> String {
        guard let word = words.popFirst() else { throw error("a word is missing") }
        return String(word)
    }

    mutating func number() throws -> Int {
        guard let number = Int(try word()) else { throw error("a number is missing") }
        return number
    }

    mutating func user() throws -> Int {
        let user = try number()
        guard (0..<SharingHistory.userCount).contains(user) else { throw error("there is no such person") }
        return user
    }

    private mutating func zone() throws -> Int {
        guard let zone = SharingHistory.zoneNames.firstIndex(of: try word()) else { throw error("no such zone") }
        return zone
    }

    mutating func permission() throws -> Permission {
        let word = try word()
        guard let permission = [Permission.none, .readOnly, .readWrite].first(where: { $0.words == word }) else {
            throw error("a permission is missing")
        }
        return permission
    }
}

extension CKShare.ParticipantPermission {
    /// The word of scenarios and histories.
    package var words: String {
        switch self {
        case .none: "nothing"
        case .readOnly: "read-only"
        case .readWrite: "read-write"
        default: "unknown"
        }
    }
}
