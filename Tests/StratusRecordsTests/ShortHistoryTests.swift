// Short histories that random ones were cut down to: each shows a rule that is easily got wrong.

import StratusTestSupport
import Testing

@Suite("short histories")
struct ShortHistoryTests {
    private static let histories: [(name: String, text: String)] = [
        (
            "a record that is too deep does not make the records above it too deep",
            """
            depth 3
            create 0
            commit 5
            in 0
            save "t" content 41
            save "k" under "t" content 41
            save "n" content 31
            save "j" under "k" content 52
            commit 29
            in 0
            save "b" under "j" content 50
            save "t" under "n" content 19
            """
        ),
        (
            "a share root is found below although it lies deeper than a record may be saved",
            """
            depth 3
            create 0
            commit 4
            in 0
            save "e" content 11
            save "l" content 50
            save "j" under "e" content 3
            save "a" under "j" content 29
            save "b" under "l" content 42
            save "p" under "a" shared "s" content 1
            commit 54
            in 0
            save "e" under "b" content 48
            commit 67
            in 0
            save "l" shared "s" content 28
            """
        ),
        (
            "a subtree that was moved deeper than a record may be saved is verified",
            """
            depth 3
            create 0
            commit 10
            in 0
            save "t" content 6
            save "p" content 46
            save "s" under "p" content 9
            save "c" under "s" content 43
            commit 26
            in 0
            save "e" under "t" content 20
            save "p" under "e" content 25
            """
        ),
    ]

    @Test("every answer equals the oracle's", arguments: histories.map(\.name))
    func shortHistory(name: String) throws {
        let text = try #require(Self.histories.first { $0.name == name }?.text)
        let failure = HistoryRunner.failure(of: try History(text: text), on: HistorySubject.inMemory[0])
        #expect(failure == nil, "\(failure.map { "\($0)" } ?? "")")
    }
}
