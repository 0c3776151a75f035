// Fuzzing the values of people: any bytes are refused, or decode and encode to the same bytes.

import StratusLayout
import StratusModel

extension FuzzTarget {
    package static let account = FuzzTarget(
        name: "account",
        // Versions, standings, flags and kinds; numbers that are too long or too large; text that is not UTF-8.
        dictionary: (UInt8(0)...0x40).map { [$0] } + [
            [0x80, 0x00], [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01], [0xC1, 0xBF],
            [0xED, 0xA0, 0x80], [0x01, 0x02, 0xC3, 0xA9], [0x01, 0x03, 0x65, 0xCC, 0x81],
        ],
        validInput: { random in AccountGenerator.entry(&random).encoded() },
        check: { input in
            if let problem = LayoutChecks.record(input) { return .violation(problem) }
            let line = ValueDescription.text(of: input, forKey: GlobalKeys.account("account"))
            if let problem = LayoutChecks.unsafeScalar(in: line) { return .violation("\(problem) in \(line)") }
            guard let entry = try? AccountEntry(decoding: input.span) else { return .refused }
            // An account passes through its entry unchanged.
            let again = AccountEntry(entry.account("account")).encoded()
            return again == input ? .accepted : .violation("an account of other bytes than its entry: \(line)")
        })
}
