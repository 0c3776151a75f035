// What a caller asks to be written into one zone, whole or not at all.

package import StratusLayout
package import StratusModel

/// One item of a request.
package enum RecordMutation: Hashable, Sendable {
    /// Writes the record as given: fields that are not in it are gone afterwards.
    case save(Record)
    /// Deletes the record. A record that does not exist is no error and changes nothing.
    case delete(RecordName)

    package var name: RecordName {
        switch self {
        case .save(let record): record.name
        case .delete(let name): name
        }
    }
}

/// Items that are written together. The order of the items does not matter for what is allowed, only for the order of
/// their sequence numbers.
///
/// The clock and the random salt are drawn by the caller, before the transaction: its body may run twice.
package struct MutationRequest: Sendable {
    package var mutations: [RecordMutation]
    package var stamp: Stamp
    /// Makes change tags differ between stores that were copied from one another.
    package var tagSalt: UInt32
    /// When and by whom records that are new to the store were created, where that was before this request.
    package var creations: [RecordName: Stamp] = [:]
    /// When and by whom records were changed last, where that is not the request's stamp: of records that are carried over
    /// from another store.
    package var modifications: [RecordName: Stamp] = [:]
    /// Whether the plan is to say in which share each saved record will lie: a walk up for each of them.
    package var asksForMemberships = false
    /// The indexes that the saved records' types are to have. What the zone has besides is kept up too.
    package var queryIndexes: [RecordType: [FieldKey: QueryIndexKinds]] = [:]

    package init(_ mutations: [RecordMutation], stamp: Stamp, tagSalt: UInt32) {
        self.mutations = mutations
        self.stamp = stamp
        self.tagSalt = tagSalt
    }
}
