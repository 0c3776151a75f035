// Large cases, at random from a printed seed: 100,000 of each property.

import StratusLayout
import StratusTestSupport
import Testing

@Suite("any tuple")
struct TuplePropertyTests {
    private static let caseCount = 100_000

    /// Runs the cases; the first that fails is reported with its number and ends the run.
    private func check(_ name: String, _ property: (inout SplitMix64) throws -> String?) throws {
        let random = SplitMix64.announced(name)
        for index in 0..<Self.caseCount {
            var generator = random.generator(forCase: index)
            if let failure = try property(&generator) {
                Issue.record("case \(index) of STRATUS_SEED=\(random.seed): \(failure)")
                return
            }
        }
    }

    @Test("what is written is read back, bit by bit")
    func roundTrip() throws {
        try check("tuple round trip") { random in
            let tuple = random.tuple()
            let bytes = try TupleWriter.encoding(of: tuple)
            var reader = TupleReader(bytes.span)
            for element in tuple {
                let found = try reader.readElement()
                if found != element || found.description != element.description { return "\(element) became \(found)" }
            }
            return reader.isAtEnd ? nil : "\(tuple) left bytes"
        }
    }

    @Test("bytes sort as the values do, and elements are equal when their bytes are")
    func order() throws {
        try check("tuple order") { random in
            let left = random.tuple(maximumCount: 3)
            let right = random.neighbour(of: left)
            let ofValues = OrderChecker.valueOrder(left, right)
            let ofBytes = OrderChecker.byteOrder(
                try TupleWriter.encoding(of: left), try TupleWriter.encoding(of: right))
            let a = TupleElement.nested(left)
            let b = TupleElement.nested(right)
            if a == b, a.hashValue != b.hashValue { return "\(left) and \(right) are equal with different hashes" }
            return ofValues == ofBytes && (ofValues == 0) == (a == b)
                ? nil : "\(left) and \(right): values \(ofValues), bytes \(ofBytes), equal \(a == b)"
        }
    }

    @Test("the end of an element does not depend on what follows, and none is a prefix of another")
    func selfDelimiting() throws {
        try check("tuple self-delimiting") { random in
            let element = random.tupleElement()
            let bytes = try TupleWriter.encoding(of: [element])
            let followed = bytes + random.bytes(count: random.below(4))
            var reader = TupleReader(followed.span)
            if try reader.readElement() != element || reader.position != bytes.count { return "\(element) did not end" }
            let cut = Array(bytes.dropLast(1 + random.below(bytes.count - 1)))
            var cutReader = TupleReader(cut.span)
            return (try? cutReader.readElement()) == nil ? nil : "\(element) can be read from \(cut)"
        }
    }

    @Test("a prefix range contains exactly the tuples that begin with the prefix")
    func prefixRange() throws {
        try check("tuple prefix range") { random in
            let tuple = random.tuple(maximumCount: 3)
            let prefix = Array(tuple.prefix(1 + random.below(max(1, tuple.count))))
            let other = random.isOne(in: 2) ? random.neighbour(of: tuple) : random.neighbour(of: prefix)
            let key = try TupleWriter.encoding(of: other)
            let lower = try TupleWriter.encoding(of: prefix)
            guard let upper = prefixUpperBound(of: lower) else {
                return prefix.isEmpty ? nil : "\(prefix) has no bound"
            }
            let isInside = OrderChecker.byteOrder(key, lower) >= 0 && OrderChecker.byteOrder(key, upper) < 0
            let begins = OrderChecker.valueOrder(Array(other.prefix(prefix.count)), prefix) == 0
            return isInside == begins ? nil : "\(other) in the range of \(prefix): \(isInside)"
        }
    }

    @Test("random bytes, and valid ones with a fault, are refused or equal the encoder's output")
    func damagedBytes() throws {
        var readable = 0
        try check("tuple damaged bytes") { random in
            var bytes = random.isOne(in: 4) ? [] : try TupleWriter.encoding(of: random.tuple())
            switch random.below(4) {
            case 0: bytes += random.bytes(count: 1 + random.below(12))
            case 1: bytes = Array(bytes.prefix(random.below(bytes.count + 1)))
            case 2 where !bytes.isEmpty: bytes[random.below(bytes.count)] ^= 1 << UInt8(random.below(8))
            default: bytes.insert(UInt8(random.below(0x40)), at: random.below(bytes.count + 1))
            }
            var reader = TupleReader(bytes.span)
            var elements: [TupleElement] = []
            while !reader.isAtEnd {
                let start = reader.position
                do throws(TupleError) {
                    elements.append(try reader.readElement())
                } catch {
                    if reader.position != start { return "the reader moved while it refused \(bytes)" }
                    return nil
                }
            }
            readable += 1
            return try TupleWriter.encoding(of: elements) == bytes ? nil : "\(bytes) is not what \(elements) gives"
        }
        #expect(readable > Self.caseCount / 100)
    }
}
