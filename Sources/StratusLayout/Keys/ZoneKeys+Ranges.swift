// The ranges of a zone. A range that goes on "after" something excludes it and everything that belongs to it.

package import StratusModel

extension ZoneKeys {
    /// Every key of the zone and no other.
    package var all: LayoutRange { KeyBuilder.range(of: prefix) }

    /// Every key of one keyspace of the zone.
    package func keyspace(_ keyspace: ZoneKeyspace) -> LayoutRange {
        KeyBuilder.range(of: key { begin(keyspace, into: &$0) })
    }

    /// Every record, tombstone and chunk, in the order of names.
    package var records: LayoutRange { keyspace(.records) }

    /// The records after `name` and all its chunks.
    package func records(after name: RecordName) -> LayoutRange {
        LayoutRange(lower: KeyBuilder.upperBound(of: record(name)), upper: records.upper)
    }

    /// A record with all its chunks.
    package func recordWithChunks(_ name: RecordName) -> LayoutRange { KeyBuilder.range(of: record(name)) }

    /// The later chunks of a record, without the first.
    package func recordChunks(_ name: RecordName) -> LayoutRange {
        var range = recordWithChunks(name)
        range.lower = KeyBuilder.successor(of: range.lower)
        return range
    }

    package var parents: LayoutRange { keyspace(.parents) }
    package func parents(after name: RecordName) -> LayoutRange {
        LayoutRange(lower: KeyBuilder.successor(of: parent(of: name)), upper: parents.upper)
    }

    package var children: LayoutRange { keyspace(.children) }
    /// The children of a record; `lower` is the prefix that `child(in:prefixByteCount:)` wants.
    package func children(of parent: RecordName) -> LayoutRange { range(.children, parent) }
    package func children(of parent: RecordName, after child: RecordName) -> LayoutRange {
        LayoutRange(
            lower: KeyBuilder.successor(of: self.child(parent: parent, name: child)),
            upper: children(of: parent).upper)
    }

    package var shareRoots: LayoutRange { keyspace(.shareRoots) }
    package func shareRoots(after name: RecordName) -> LayoutRange {
        LayoutRange(lower: KeyBuilder.successor(of: shareRoot(name)), upper: shareRoots.upper)
    }

    package var shareCounts: LayoutRange { keyspace(.shareCounts) }
    /// The share counts of a record's children, or of the records that have no parent.
    package func shareCounts(below parent: RecordName?) -> LayoutRange { range(.shareCounts, parent) }

    package var references: LayoutRange { keyspace(.references) }
    /// Every reference to a record.
    package func references(to target: RecordName) -> LayoutRange { range(.references, target) }
    /// The references to a record after those of `source`.
    package func references(to target: RecordName, after source: RecordName) -> LayoutRange {
        let prefix = key {
            begin(.references, into: &$0)
            TupleWriter.appendString(target.text, to: &$0)
            TupleWriter.appendString(source.text, to: &$0)
        }
        return LayoutRange(lower: KeyBuilder.upperBound(of: prefix), upper: references(to: target).upper)
    }

    package var types: LayoutRange { keyspace(.types) }
    /// The live records of a type, in the order of names.
    package func types(of type: RecordType) -> LayoutRange { range(.types, RecordName(type.text)) }
    package func types(of type: RecordType, after name: RecordName) -> LayoutRange {
        LayoutRange(
            lower: KeyBuilder.successor(of: self.type(type, name: name)), upper: types(of: type).upper)
    }

    package var changes: LayoutRange { keyspace(.changes) }
    package func changes(after sequence: UInt64) -> LayoutRange {
        LayoutRange(lower: KeyBuilder.successor(of: change(sequence: sequence)), upper: changes.upper)
    }
    /// The changes after `sequence`, up to and including `last`.
    package func changes(after sequence: UInt64, upTo last: UInt64) -> LayoutRange {
        LayoutRange(
            lower: KeyBuilder.successor(of: change(sequence: sequence)),
            upper: KeyBuilder.successor(of: change(sequence: max(sequence, last))))
    }

    /// Every key of a keyspace whose first part is `name`, or null.
    private func range(_ keyspace: ZoneKeyspace, _ name: RecordName?) -> LayoutRange {
        KeyBuilder.range(
            of: key {
                begin(keyspace, into: &$0)
                KeyBuilder.append(name, to: &$0)
            })
    }
}

extension ZoneKeys {
    package var endedParents: LayoutRange { keyspace(.endedParents) }
    package func endedParents(of child: RecordName) -> LayoutRange { range(.endedParents, child) }
    /// The parents that ended after the change `sequence`.
    package func endedParents(of child: RecordName, after sequence: UInt64) -> LayoutRange {
        LayoutRange(
            lower: KeyBuilder.successor(of: endedParent(child: child, ended: sequence)),
            upper: endedParents(of: child).upper)
    }

    package var endedChildren: LayoutRange { keyspace(.endedChildren) }
    /// Every child a record once had, in the order of the changes that ended it.
    package func endedChildren(of parent: RecordName) -> LayoutRange { range(.endedChildren, parent) }
    /// The children of a record that ended after the change `sequence`.
    package func endedChildren(of parent: RecordName, after sequence: UInt64) -> LayoutRange {
        let prefix = key {
            begin(.endedChildren, into: &$0)
            TupleWriter.appendString(parent.text, to: &$0)
            TupleWriter.appendInteger(sequence, to: &$0)
        }
        return LayoutRange(lower: KeyBuilder.upperBound(of: prefix), upper: endedChildren(of: parent).upper)
    }

    package var endedShares: LayoutRange { keyspace(.endedShares) }
    package func endedShares(of root: RecordName) -> LayoutRange { range(.endedShares, root) }
    /// The shares that ended after the change `sequence`.
    package func endedShares(of root: RecordName, after sequence: UInt64) -> LayoutRange {
        LayoutRange(
            lower: KeyBuilder.successor(of: endedShare(root: root, ended: sequence)),
            upper: endedShares(of: root).upper)
    }
}
