// Fields that queries and subscriptions name and that no record has had: a misspelling finds nothing, without an error, until the
// schema is deployed to production, which refuses it. So the host is warned, once a type and field.

import FoundationEssentials
import StratusModel
import StratusStore

/// Collects fields while a request runs, so that the host's hook is called when nothing of the store is held.
final class UnknownFields: Sendable {
    struct Name: Hashable {
        /// The store's, as a process may have several.
        var incarnation: UUID
        var container: ContainerName
        var type: RecordType
        var field: FieldKey
    }

    /// The fields that a warning was given for. The least recently used field is dropped.
    final class Memory: Sendable {
        static let ofProcess = Memory()

        fileprivate let warned = Locked(RecentEntries<Name, Bool>(room: 1_000))
    }

    private let incarnation: UUID
    private let memory: Memory
    private let pending = Locked<[Name]>([])

    init(incarnation: UUID, memory: Memory = .ofProcess) {
        self.incarnation = incarnation
        self.memory = memory
    }

    func note(_ fields: [FieldKey], of type: RecordType, in container: ContainerName) {
        guard !fields.isEmpty else { return }
        let names = fields.map { Name(incarnation: incarnation, container: container, type: type, field: $0) }
        let new = memory.warned.withLock { warned in
            names.filter { name in
                if warned.find(name) != nil { return false }
                warned.insert(name, true)
                return true
            }
        }
        if !new.isEmpty { pending.withLock { $0 += new } }
    }

    /// The warnings that were not given yet.
    func takeWarnings() -> [CloudEvent] {
        let names = pending.withLock { pending in
            defer { pending = [] }
            return pending
        }
        return names.map { name in
            CloudEvent(
                kind: .queryUnknownField, caller: Caller(container: name.container, account: nil),
                error: CloudError(
                    .invalidArguments,
                    "A query names a field that no record has had: check its spelling, or import the schema.",
                    ["field": name.field.text, "recordType": name.type.text]))
        }
    }
}
