// The fuzzer finds planted faults, repeats its findings, and reaches both sides of every target's decoder.

import StratusLayout
import StratusTestSupport
import Testing
import stratus_test_program

@Suite("the fuzzer")
struct FuzzRunTests {
    private static let seed: UInt64 = 20_250_101
    /// Those of both fuzzers.
    private static let known: [FuzzTarget] = FuzzTarget.all + [.archive]

    @Test("every target refuses some inputs and accepts others, and nothing is wrong", arguments: known.map(\.name))
    func targets(name: String) throws {
        let target = try #require(Self.known.first { $0.name == name })
        // An archive takes longer than any entry.
        let count = name == FuzzTarget.archive.name ? 5_000 : 10_000
        let report = FuzzRun(target, seed: Self.seed).execute(0..<count)
        #expect(report.violation == nil)
        #expect(report.acceptedCount > 500, "too few inputs are valid to try what follows decoding")
        #expect(report.refusedCount > 500, "too few inputs are damaged")
        #expect(report.executionCount == count)
    }

    @Test("names of targets are unique")
    func names() {
        #expect(Set(Self.known.map(\.name)).count == Self.known.count)
    }

    @Test("an iteration has the same input whatever ran before it, and another one with another seed")
    func repeats() {
        let run = FuzzRun(.tuple, seed: Self.seed)
        _ = run.execute(0..<100)
        let again = FuzzRun(.tuple, seed: Self.seed)
        let other = FuzzRun(.tuple, seed: Self.seed + 1)
        #expect((0..<100).allSatisfy { run.input(at: $0) == again.input(at: $0) })
        #expect((0..<100).contains { run.input(at: $0) != other.input(at: $0) })
        #expect(Set((0..<1_000).map { run.input(at: $0) }).count > 500)
    }

    /// The tuple target with a decoder that also runs `reader` on the input.
    private func planted(_ reader: @escaping @Sendable ([UInt8]) -> [UInt8]) -> FuzzTarget {
        FuzzTarget(
            name: "planted", dictionary: FuzzTarget.tuple.dictionary, validInput: FuzzTarget.tuple.validInput,
            check: { input in
                let seen = reader(input)
                guard let elements = try? TupleReader.elements(of: seen) else { return .refused }
                return (try? TupleWriter.encoding(of: elements)) == input ? .accepted : .violation("not rewritten")
            })
    }

    @Test("it finds a decoder that accepts an overlong integer, and the iteration reproduces it")
    func findsLongIntegers() throws {
        // One followed by a zero byte is taken for the zero that it means.
        let lenient = planted { input in
            guard let index = input.indices.first(where: { $0 == 0 && input.starts(with: [0x11, 0x00]) }) else {
                return input
            }
            return Array(input[..<index]) + [TupleTypeCode.integerZero] + input.dropFirst(index + 2)
        }
        let run = FuzzRun(lenient, seed: Self.seed)
        let violation = try #require(run.execute(0..<100_000).violation)
        let only = run.execute(violation.iteration..<violation.iteration + 1)
        #expect(only.violation == violation)
        #expect(only.executionCount == 1)
        #expect(run.input(at: violation.iteration) == violation.input)
    }

    @Test("it finds a decoder that ignores bytes after the last element")
    func findsIgnoredBytes() {
        let lenient = planted { input in input.last == 0xFF ? Array(input.dropLast()) : input }
        #expect(FuzzRun(lenient, seed: Self.seed).execute(0..<100_000).violation != nil)
    }
}
