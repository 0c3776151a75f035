// The plan of a request: everything that will be written, as a value that can be printed and tested before it is done.

package import StratusLayout
package import StratusModel

/// What a request turns into: committed whole or not at all.
package struct MutationPlan: Sendable {
    /// Every key set or deleted, records and index entries and history together.
    package var mutations = KeyMutations()
    /// The zone's header afterwards.
    package var header: ZoneHeader
    /// The hierarchy nodes that change, for the ancestor cache; nil where the record is gone.
    package var nodes: [HierarchyChange] = []
    /// The saved records as they will be read back, in the order of the request.
    package var saved: [StoredRecord] = []
    /// The records that existed and are deleted, in the order of the request.
    package var deleted: [(name: RecordName, type: RecordType)] = []
    /// The hierarchical shares in which the saved records will lie; empty where the request did not ask.
    package var memberships: [RecordName: ShareMembership] = [:]

    package init(header: ZoneHeader) {
        self.header = header
    }

    /// Whether nothing at all changes.
    package var isEmpty: Bool { mutations.isEmpty }
}

extension MutationPlan: CustomStringConvertible {
    /// One line for every write, in the order of the keys' descriptions.
    package var description: String {
        var lines: [String] = []
        mutations.forEach { key, value in
            if let value {
                lines.append("set    \(KeyDescription(key)) = \(ValueDescription(key: key, value: value))")
            } else {
                lines.append("delete \(KeyDescription(key))")
            }
        }
        return lines.sorted().joined(separator: "\n")
    }
}
