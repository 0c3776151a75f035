// How the command line names a record. All verbs use the same forms.
//
//   /share/doc/README   a path: the names from a record without a parent down to the record, as they are now
//   /                   the records without a parent
//   name:/odd           any record name
//   db://…              a record with its database and zone; see `PlaceAddress`
//   anything else       a record name

import ArgumentParser
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore

/// One record, by name or by path.
struct RecordArgument: ExpressibleByArgument, Hashable, Sendable {
    enum Form: Hashable, Sendable {
        case recordName(RecordName)
        case path([String])
    }

    private static let namePrefix = "name:"

    let text: String
    let form: Form
    /// The zone, if the address names one.
    let place: PlaceAddress?

    init?(argument: String) {
        guard !argument.isEmpty else { return nil }
        text = argument
        if argument.hasPrefix(PlaceAddress.prefix) {
            guard let read = PlaceAddress.read(argument), read.place.zone != nil else { return nil }
            place = read.place
            form = read.name.map { .recordName(RecordName($0)) } ?? .path(read.path)
            return
        }
        place = nil
        if argument.hasPrefix(Self.namePrefix) {
            let name = argument.dropFirst(Self.namePrefix.count)
            guard !name.isEmpty else { return nil }
            form = .recordName(RecordName(String(name)))
        } else if argument.hasPrefix("/") {
            form = .path(argument.split(separator: "/").map(String.init))
        } else {
            form = .recordName(RecordName(argument))
        }
    }

    init(path: String) {
        text = path
        place = nil
        form = .path(path.split(separator: "/").map(String.init))
    }

    var defaultValueDescription: String { text }

    /// Whether it is '/', the place above all records.
    var isTop: Bool { form == .path([]) }

    static let help: ArgumentHelp = ArgumentHelp(
        """
        A record: a path of names such as /share/doc, a record name (name:TEXT if it begins with '/'), or \
        db://CONTAINER/PERSON/ZONE with a path ('stratus help addresses').
        """,
        valueName: "record")
}

extension ZoneReader {
    /// Gets the part of a path that is being resolved, how many records were examined for its last name, and the upper
    /// bound.
    typealias PathListener = (_ path: String, _ looked: Int, _ most: Int) -> Void

    /// The name of the record that an address leads to. A path reads every child of the folders on it, with progress.
    ///
    /// Throws `notFound` if there is none, `ambiguous` if a folder on the path has several children of the name.
    /// Of records that have the last name of a path, only those that `sight` shows count.
    func resolve(_ address: RecordArgument, _ console: Console, among sight: Sight = .all) throws -> RecordName {
        let progress = ProgressLine("looking for", on: console)
        return try resolve(address, among: sight, looking: { progress.update($0, $1, ofAtMost: $2) })
    }

    /// Does the same with a listener. Counts each folder of the path separately.
    func resolve(
        _ address: RecordArgument, among sight: Sight = .all, looking: @escaping PathListener
    ) throws -> RecordName {
        switch address.form {
        case .recordName(let name):
            guard try node(name) != nil else { throw unknown(address, missing: name.text, below: nil) }
            return name
        case .path(let names):
            var found: RecordName?
            var path = ""
            for (index, name) in names.enumerated() {
                path += "/\(name)"
                let isLast = index == names.count - 1
                do {
                    found = try child(named: name, of: found, address, isLast ? sight : .all) {
                        [path] in looking(path, $0, $1)
                    }
                } catch let error as ToolError where error.code == .ambiguous && !isLast && !sight.isWhole {
                    // Which folders there are is not everybody's business.
                    throw unknown(address, missing: name, below: nil)
                }
            }
            guard let found else {
                throw ToolError(
                    .notFound, "'/' is not a record: name a record below it.",
                    ["address": address.text])
            }
            return found
        }
    }

    private func child(
        named name: String, of parent: RecordName?, _ address: RecordArgument, _ sight: Sight,
        looking: @escaping (_ looked: Int, _ most: Int) -> Void
    ) throws -> RecordName {
        if parent == nil, let top = try top(named: name) { return top }
        let bound = try recordBound()
        let looked = LookCounter { looking($0, bound) }
        var matches: [RecordName] = []
        try visitChildrenOrTops(of: parent, passing: looked.add) { child in
            guard let record = try record(child.name, fields: .only([TreeField.name]))?.record else { return .next }
            // Compare bytes: canonically equivalent names are different.
            if record.label.utf8.elementsEqual(name.utf8), try sight.sees(child.name) { matches.append(child.name) }
            return matches.count > 1 ? .stop : .next
        }
        guard let match = matches.first else { throw unknown(address, missing: name, below: parent) }
        guard matches.count == 1 else {
            throw ToolError(
                .ambiguous, "Several records have this name: use a record name ('stratus ls --names' shows them).",
                [
                    "address": address.text, "name": name, "recordNames": matches.map(\.text).joined(separator: ", "),
                    "below": sight.isWhole ? parent?.text ?? "/" : nil,
                ].compactMapValues { $0 })
        }
        return match
    }

    /// Finds immediately a record without a parent whose record name is also its label, such as the top of an imported
    /// tree.
    private func top(named name: String) throws -> RecordName? {
        guard let record = try record(RecordName(name), fields: .only([TreeField.name]))?.record else { return nil }
        return record.parent == nil && record.label.utf8.elementsEqual(name.utf8) ? record.name : nil
    }

    private func unknown(_ address: RecordArgument, missing: String, below: RecordName?) -> ToolError {
        var fields = ["address": address.text, "zone": id.name.text]
        if let below {
            fields["missing"] = missing
            fields["below"] = below.text
        }
        return ToolError(
            .notFound, "There is no such record: 'stratus ls' lists records (paths begin with '/').", fields)
    }

    /// The record of a name that the hierarchy has.
    ///
    /// Throws `corruption` if the record is missing.
    func listedRecord(_ name: RecordName) throws -> StoredRecord {
        guard let stored = try record(name) else {
            throw StoreError(
                .corruption, "The hierarchy names this record, but the record is missing: verify the store.",
                ["record": name.text])
        }
        return stored
    }

    /// A record of the hierarchy.
    func child(_ name: RecordName) throws -> Child {
        Child(name: name, hasChildren: try node(name)?.hasChildren ?? false)
    }

    /// Visits the children of a record, or the records without a parent, in the byte order of their names. Calls
    /// `passing` for each examined record: each child, or each record of the zone.
    func visitChildrenOrTops(
        of parent: RecordName?, passing: () -> Void = {}, _ visit: (Child) throws -> ScanStep
    ) throws {
        guard let parent else {
            // There is no index of the records without a parent: this scans the whole parent index.
            return try store.scan(keys.keyspace(.parents)) { key, value in
                passing()
                let entry = try ParentEntry(decoding: value)
                guard entry.parent == nil else { return .next }
                return try visit(Child(name: keys.readParentKey(key), hasChildren: entry.hasChildren))
            }
        }
        try visitChildren(of: parent) { child in
            passing()
            return try visit(child)
        }
    }
}
