// Accounts as one readable line.

import StratusModel

extension ValueDescription {
    static func text(_ entry: AccountEntry) -> String {
        var pieces = ["user \(quoted(entry.userName.text))", "standing \(entry.standing)"]
        if let externalID = entry.externalID { pieces.append("external \(quoted(externalID))") }
        if let quota = entry.quotaByteCount { pieces.append("quota \(quota.counting("byte"))") }
        pieces.append(entry.isDiscoverable ? "discoverable" : "not discoverable")
        pieces.append("created \(ReadableDate.text(entry.created))")
        let parts = [
            ("prefix", entry.name.prefix), ("given", entry.name.given), ("middle", entry.name.middle),
            ("family", entry.name.family), ("suffix", entry.name.suffix), ("nickname", entry.name.nickname),
        ]
        for case (let label, let part?) in parts { pieces.append("\(label) \(quoted(part))") }
        let handles = entry.handles.map { text($0) }
        return (pieces + handles.sorted()).joined(separator: ", ")
    }
}
