// How a record is named on the command line, the same for every verb.
//
//   /share/doc/README   a path: the names from a record without parent down to the record, as the store has it now
//   /                   the records without parent
//   name:/odd           the record name that follows, whatever it is
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
    /// The zone, where the address names one.
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

    /// Whether it means the place above all records without parent.
    var isTop: Bool { form == .path([]) }

    static let help: ArgumentHelp = ArgumentHelp(
        """
        A record: a path of names like /share/doc, a record name (name:TEXT where that begins with '/'), or \
        db://CONTAINER/PERSON/ZONE and a path ('stratus help addresses').
        """,
        valueName: "record")
}

extension ZoneReader {
    /// Is told of a path as far as it is looked for, how many records were looked at for its last name, and of how many at
    /// most.
    typealias PathListener = (_ path: String, _ looked: Int, _ most: Int) -> Void

    /// The name of the record that an address leads to. A path reads each child of the folders on its way, and people see how
    /// far that has come.
    ///
    /// Throws `notFound` when there is none, `ambiguous` when a folder on the way has several children of the name.
    func resolve(_ address: RecordArgument, _ console: Console) throws -> RecordName {
        let progress = ProgressLine("looking for", total: nil, on: console)
        defer { progress.finish() }
        return try resolve(address, looking: { progress.update($0, $1, ofAtMost: $2) })
    }

    /// The same where `looking` is told now and then. Each folder on the way is counted anew.
    func resolve(_ address: RecordArgument, looking: @escaping PathListener) throws -> RecordName {
        switch address.form {
        case .recordName(let name):
            guard try node(name) != nil else { throw unknown(address, missing: name.text, below: nil) }
            return name
        case .path(let names):
            var found: RecordName?
            var path = ""
            for name in names {
                path += "/\(name)"
                found = try child(named: name, of: found, address) { [path] in looking(path, $0, $1) }
            }
            guard let found else {
                throw ToolError(
                    .notFound, "'/' is above all records and no record itself: name one below it.",
                    ["address": address.text])
            }
            return found
        }
    }

    private func child(
        named name: String, of parent: RecordName?, _ address: RecordArgument,
        looking: @escaping (_ looked: Int, _ most: Int) -> Void
    ) throws -> RecordName {
        if parent == nil, let top = try top(named: name) { return top }
        let bound = try recordBound()
        let looked = LookCounter { looking($0, bound) }
        var matches: [RecordName] = []
        try visitChildrenOrTops(of: parent, passing: looked.add) { child in
            guard let record = try record(child.name, fields: .only([TreeField.name]))?.record else { return .next }
            // Names are compared by their bytes, as everywhere.
            if record.label.utf8.elementsEqual(name.utf8) { matches.append(child.name) }
            return matches.count > 1 ? .stop : .next
        }
        guard let match = matches.first else { throw unknown(address, missing: name, below: parent) }
        guard matches.count == 1 else {
            throw ToolError(
                .ambiguous, "Several records here have this name: use a record name ('ls --names' shows them).",
                [
                    "address": address.text, "name": name, "recordNames": matches.map(\.text).joined(separator: ", "),
                    "below": parent?.text ?? "/",
                ])
        }
        return match
    }

    /// A record without parent whose record name is its label too, as an imported tree's is, is found at once.
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
            .notFound, "No such record: look with 'stratus ls' at what is there (paths begin with '/').", fields)
    }

    /// Visits the children of a record, or the records without parent, in the byte order of their names. `passing` is called
    /// for each record on the way: each child, or each record of the zone.
    func visitChildrenOrTops(
        of parent: RecordName?, passing: () -> Void = {}, _ visit: (Child) throws -> ScanStep
    ) throws {
        guard let parent else { return try visitTops(passing, visit) }
        try visitChildren(of: parent) { child in
            passing()
            return try visit(child)
        }
    }

    /// The records without parent have no list of their own: this looks at every entry of the parent index.
    private func visitTops(_ passing: () -> Void, _ visit: (Child) throws -> ScanStep) throws {
        try store.scan(keys.parents.keyRange) { key, value in
            passing()
            let entry = try ParentEntryView(value)
            guard !entry.hasParent else { return .next }
            return try visit(Child(name: keys.readParentKey(key), hasChildren: entry.hasChildren))
        }
    }
}
