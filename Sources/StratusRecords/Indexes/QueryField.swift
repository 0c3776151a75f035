// The fields that queries and indexes know, those of the system among them.

package import StratusModel

/// What of a record is tested or sorted by.
package enum QueryField: Hashable, Sendable {
    case field(FieldKey)
    case recordName
    case created
    case modified
    case creator
    case modifier
    case parent
    case share

    /// The name under which the field lies in the index of values; nil where no such index can be.
    package var indexKey: FieldKey? {
        switch self {
        case .field(let key): key
        case .created: "___createTime"
        case .modified: "___modTime"
        case .creator: "___createdBy"
        case .modifier: "___modifiedBy"
        case .recordName, .parent, .share: nil
        }
    }
}

extension QueryField {
    /// The field whose index has this name.
    package init(indexKey: FieldKey) {
        let system: [QueryField] = [.created, .modified, .creator, .modifier]
        self = system.first { $0.indexKey == indexKey } ?? .field(indexKey)
    }
}

extension QueryField {
    /// The field's value in a record; nil where it has none. What is encrypted is not told (C-08).
    package func value(in stored: StoredRecord) -> FieldValue? {
        switch self {
        case .field(let key): Self.value(of: key, in: stored)
        case .recordName: Self.reference(stored.record.name)
        case .created: .date(stored.system.created.date)
        case .modified: .date(stored.system.modified.date)
        case .creator: Self.reference(RecordName(stored.system.created.user.text))
        case .modifier: Self.reference(RecordName(stored.system.modified.user.text))
        case .parent: stored.record.parent.map(Self.reference)
        case .share: stored.record.share.map(Self.reference)
        }
    }

    /// The value of a field that is none of the system's; nil where there is none, or it is encrypted.
    static func value(of key: FieldKey, in stored: StoredRecord) -> FieldValue? {
        guard let field = stored.record.fields[key], !field.isEncrypted else { return nil }
        return field.value
    }

    private static func reference(_ name: RecordName) -> FieldValue {
        .reference(RecordReference(target: name, action: .none))
    }
}

extension FieldValue {
    /// The items of a list, or the value alone.
    var items: [FieldValue] {
        if case .list(let items) = self { items } else { [self] }
    }
}
