// Dense and scattered numbers of databases.

import StratusLayout
import Testing

@Suite("numbers of databases")
struct DatabaseNumberTests {
    private static let last: UInt64 = 1 << 46

    @Test("a scattered number leads back to its count, and no two counts have the same one")
    func injective() {
        var seen: Set<UInt64> = []
        for count in UInt64(1)...100_000 {
            let number = DatabaseNumber.scattered(count)
            #expect(number.count == count)
            seen.insert(number.rawValue)
        }
        #expect(seen.count == 100_000)
        for bit in UInt64(0)..<46 {
            let one = UInt64(1) << bit
            for count in [one, one - 1, Self.last - one] where count > 0 {
                #expect(DatabaseNumber.scattered(count).count == count)
            }
        }
    }

    @Test("a scattered number is never a dense one, and all take six bytes in a key")
    func range() {
        for count in Array(UInt64(1)...10_000) + [Self.last / 2, Self.last - 1] {
            let number = DatabaseNumber.scattered(count)
            #expect((1 << 47..<1 << 48).contains(number.rawValue))
            #expect(DatabaseKeys(number).header().count == DatabaseKeys(.scattered(1)).header().count)
        }
    }

    @Test("a dense number is its count")
    func dense() {
        for count in [0, 1, 2, 300, 1 << 39, (1 << 40) - 1] as [UInt64] {
            #expect(DatabaseNumber(count).count == count)
        }
    }

    @Test("a number that no count gives has none")
    func impossible() {
        for raw in [1 << 40, 1 << 46, 1 << 47, 1 << 47 | 1 << 46, 1 << 48, .max] as [UInt64] {
            #expect(DatabaseNumber(raw).count == nil, "\(raw)")
        }
    }

    @Test("numbers given one after another lie far apart")
    func apart() {
        for count in UInt64(1)...1_000 {
            let (one, next) = (DatabaseNumber.scattered(count), DatabaseNumber.scattered(count + 1))
            let distance = one < next ? next.rawValue - one.rawValue : one.rawValue - next.rawValue
            #expect(distance >= 1 << 35)
        }
    }
}
