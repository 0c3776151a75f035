// The bytes of cursors and of stored queries: numbers of eight bytes, texts with their length. Cursors are sealed, so
// readers only get bytes that were written here; still, no byte makes them trap. Cursors and subscriptions are kept, so
// the numbers never change.

import FoundationEssentials
import StratusModel

/// Appends the parts of a cursor.
struct CursorWriter {
    private(set) var bytes: [UInt8] = []

    mutating func append(byte: UInt8) { bytes.append(byte) }

    mutating func append(_ number: UInt64) {
        for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    mutating func append(_ number: Double) { append(number.bitPattern) }

    mutating func append(_ text: String) {
        append(UInt64(text.utf8.count))
        bytes.append(contentsOf: text.utf8)
    }

    mutating func append<Value>(optional value: Value?, _ append: (inout Self, Value) -> Void) {
        self.append(byte: value == nil ? 0 : 1)
        if let value { append(&self, value) }
    }

    mutating func append<Value>(each values: [Value], _ append: (inout Self, Value) -> Void) {
        self.append(UInt64(values.count))
        for value in values { append(&self, value) }
    }
}

/// Reads the parts of a cursor.
struct CursorReader {
    /// The bytes are not a cursor.
    struct Failure: Error {}

    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func readByte() throws -> UInt8 {
        guard position < bytes.count else { throw Failure() }
        position += 1
        return bytes[position - 1]
    }

    mutating func readNumber() throws -> UInt64 {
        var number: UInt64 = 0
        for _ in 0..<8 { number = number << 8 | UInt64(try readByte()) }
        return number
    }

    mutating func readDouble() throws -> Double { Double(bitPattern: try readNumber()) }

    /// The number of following items, each of at least a byte.
    mutating func readCount() throws -> Int {
        let number = try readNumber()
        guard number <= UInt64(bytes.count - position) else { throw Failure() }
        return Int(number)
    }

    mutating func readBytes() throws -> [UInt8] {
        let count = try readCount()
        defer { position += count }
        return Array(bytes[position..<position + count])
    }

    mutating func readText() throws -> String {
        guard let text = String(validating: try readBytes(), as: UTF8.self) else { throw Failure() }
        return text
    }

    mutating func readOptional<Value>(_ read: (inout Self) throws -> Value) throws -> Value? {
        switch try readByte() {
        case 0: nil
        case 1: try read(&self)
        default: throw Failure()
        }
    }

    mutating func readEach<Value>(_ read: (inout Self) throws -> Value) throws -> [Value] {
        var values: [Value] = []
        for _ in 0..<(try readCount()) { values.append(try read(&self)) }
        return values
    }

    func expectEnd() throws {
        guard position == bytes.count else { throw Failure() }
    }
}

extension CursorWriter {
    mutating func append(_ place: Location) {
        for number in [
            place.latitudeDegrees, place.longitudeDegrees, place.altitudeMetres, place.horizontalAccuracyMetres,
            place.verticalAccuracyMetres, place.courseDegrees, place.speedMetresPerSecond,
            place.timestamp.timeIntervalSinceReferenceDate,
        ] { append(number) }
    }

    mutating func append(_ zone: ZoneAddress) {
        append(zone.zoneName)
        append(zone.ownerName)
    }

    /// The numbers never change.
    mutating func append(_ value: ClientValue) {
        switch value {
        case .string(let text):
            append(byte: 1)
            append(text)
        case .int64(let number):
            append(byte: 2)
            append(UInt64(bitPattern: number))
        case .double(let number):
            append(byte: 3)
            append(number)
        case .date(let date):
            append(byte: 4)
            append(date.timeIntervalSinceReferenceDate)
        case .location(let place):
            append(byte: 5)
            append(place)
        case .reference(let reference):
            append(byte: 6)
            append(reference.target.recordName)
            append(reference.target.zone)
        case .list(let items):
            append(byte: 7)
            append(each: items) { $0.append($1) }
        // Comparisons never have these.
        case .bytes, .asset: append(byte: 0)
        }
    }

    /// A sort value of a result, in the same bytes. A reference is in the zone of the results.
    mutating func append(_ value: FieldValue) {
        switch value {
        case .reference(let reference):
            append(byte: 6)
            append(reference.target.text)
        case .string, .int64, .double, .date: append(ClientValue(value, .none))
        case .bytes, .location, .asset, .list: append(byte: 0)
        }
    }
}

extension CursorReader {
    mutating func readPlace() throws -> Location {
        Location(
            latitudeDegrees: try readDouble(), longitudeDegrees: try readDouble(), altitudeMetres: try readDouble(),
            horizontalAccuracyMetres: try readDouble(), verticalAccuracyMetres: try readDouble(),
            courseDegrees: try readDouble(), speedMetresPerSecond: try readDouble(),
            timestamp: Date(timeIntervalSinceReferenceDate: try readDouble()))
    }

    mutating func readZone() throws -> ZoneAddress {
        ZoneAddress(zoneName: try readText(), ownerName: try readText())
    }

    mutating func readValue(isItem: Bool = false) throws -> ClientValue {
        try readValue(of: readByte(), isItem: isItem)
    }

    private mutating func readValue(of kind: UInt8, isItem: Bool) throws -> ClientValue {
        switch kind {
        case 1: return .string(try readText())
        case 2: return .int64(Int64(bitPattern: try readNumber()))
        case 3: return .double(try readDouble())
        case 4: return .date(Date(timeIntervalSinceReferenceDate: try readDouble()))
        case 5: return .location(try readPlace())
        case 6:
            let name = try readText()
            return .reference(
                ClientReference(target: RecordAddress(recordName: name, zone: try readZone()), action: .none))
        case 7 where !isItem:
            return .list(try readEach { try $0.readValue(isItem: true) })
        default: throw Failure()
        }
    }

    mutating func readSortedValue() throws -> FieldValue {
        let kind = try readByte()
        if kind == 6 { return .reference(RecordReference(target: RecordName(try readText()), action: .none)) }
        switch try readValue(of: kind, isItem: true) {
        case .string(let text): return .string(text)
        case .int64(let number): return .int64(number)
        case .double(let number): return .double(number)
        case .date(let date): return .date(date)
        case .bytes, .location, .reference, .asset, .list: throw Failure()
        }
    }
}

extension CursorWriter {
    /// Appends all of a query but `matchesNothing`: such a query has no cursor, and a subscription stores that
    /// separately.
    mutating func append(_ query: ClientQuery) {
        append(query.recordType)
        append(each: query.filters) { writer, filter in
            writer.append(filter.key)
            writer.append(byte: filter.comparator.rawValue)
            writer.append(filter.operand)
            writer.append(optional: filter.radius) { $0.append($1) }
        }
        append(each: query.sorts) { writer, sort in
            writer.append(sort.key)
            writer.append(byte: sort.isAscending ? 1 : 0)
            writer.append(optional: sort.origin) { $0.append($1) }
        }
    }
}

extension CursorReader {
    mutating func readQuery() throws -> ClientQuery {
        var query = ClientQuery(recordType: try readText())
        query.filters = try readEach { reader in
            let key = try reader.readText()
            guard let comparator = QueryComparator(rawValue: try reader.readByte()) else { throw Failure() }
            let operand = try reader.readValue()
            let radius = try reader.readOptional { try $0.readDouble() }
            return QueryFilter(key: key, comparator: comparator, operand: operand, radius: radius)
        }
        query.sorts = try readEach { reader in
            let key = try reader.readText()
            let isAscending = try reader.readByte() == 1
            let origin = try reader.readOptional { try $0.readPlace() }
            return QuerySort(key: key, isAscending: isAscending, origin: origin)
        }
        return query
    }
}
