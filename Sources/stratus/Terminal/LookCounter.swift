// How many records were looked at, told now and then.

/// Counts records as they are looked at.
final class LookCounter {
    /// Looking at a record takes little longer than asking a clock, which is what is done where it is told.
    private static let countBetweenTellings = 256

    private let tell: (_ count: Int) -> Void
    private var count = 0

    init(_ tell: @escaping (_ count: Int) -> Void) { self.tell = tell }

    /// Counts one more.
    func add() {
        count += 1
        if count.isMultiple(of: Self.countBetweenTellings) { tell(count) }
    }
}
