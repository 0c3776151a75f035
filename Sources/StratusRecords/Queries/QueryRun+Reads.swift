// What a query reads because of the entries of an index, announced before it is read. See `ZoneReads`.

import StratusLayout
import StratusModel
import StratusStore

extension ZoneReads {
    /// Entries of an index that are read at once.
    static let entryCount = 1_024

    /// The beginnings of the entries of some ways.
    func entries(of sources: [QueryWay.Source], limit: Int) {
        for source in sources {
            switch source {
            case .given(let names): records(names)
            case .met(let sources): entries(of: sources, limit: limit)
            case .type(let range): announce(range, limit: limit)
            case .names(let ranges), .among(_, let ranges), .values(_, let ranges), .scattered(_, let ranges):
                for range in ranges { announce(range, limit: limit) }
            }
        }
    }

    /// Adds the record that an entry of a field's index names.
    func add(
        recordOf key: Span<UInt8>, _ prefixByteCount: Int, needsPlaces: Bool, to plan: inout ReadPlan
    ) throws {
        let nameOffset = try ZoneKeys.readFieldEntry(key, prefixByteCount: prefixByteCount).nameOffset
        var record: [UInt8] = []
        keys.record(namedIn: key, from: nameOffset, into: &record)
        plan.add(record, following: chunks)
        if needsPlaces { addPlaces(of: try ZoneKeys.readName(key, prefixByteCount: nameOffset), to: &plan) }
    }
}
