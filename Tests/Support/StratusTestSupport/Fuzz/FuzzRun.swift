// A run of the fuzzer: iteration i of a seed is always the same input, whatever ran before it.

/// One target, one seed.
package struct FuzzRun: Sendable {
    /// The result of a run, or of a part of one.
    package struct Report: Hashable, Sendable {
        package var acceptedCount = 0
        package var refusedCount = 0
        /// The first input with a fault; the run ends there.
        package var violation: Violation?

        package var executionCount: Int { acceptedCount + refusedCount + (violation == nil ? 0 : 1) }
    }

    /// An input with a fault.
    package struct Violation: Hashable, Sendable {
        package let iteration: Int
        package let input: [UInt8]
        package let message: String
    }

    /// The number of valid inputs that mutations begin with.
    package static let corpusCount = 2_000

    package let target: FuzzTarget
    private let random: SplitMix64
    private let mutator: ByteMutator

    package init(_ target: FuzzTarget, seed: UInt64) {
        self.target = target
        random = SplitMix64(seed: seed)
        // Negative cases are the corpus, so that they share no numbers with the iterations.
        let corpus = (0..<Self.corpusCount).map { index in
            var generator = SplitMix64(seed: seed).generator(forCase: -2 - index)
            return target.validInput(&generator)
        }
        mutator = ByteMutator(corpus: corpus, dictionary: target.dictionary)
    }

    /// The input of an iteration.
    package func input(at iteration: Int) -> [UInt8] {
        var generator = random.generator(forCase: iteration)
        return mutator.input(&generator)
    }

    /// Executes iterations, up to the first with a fault.
    ///
    /// `willExecute` is called before each one: after a trap, nothing more is called.
    package func execute(_ iterations: Range<Int>, willExecute: ((Int, [UInt8]) -> Void)? = nil) -> Report {
        var report = Report()
        for iteration in iterations {
            let input = input(at: iteration)
            willExecute?(iteration, input)
            switch target.check(input) {
            case .accepted: report.acceptedCount += 1
            case .refused: report.refusedCount += 1
            case .violation(let message):
                report.violation = Violation(iteration: iteration, input: input, message: message)
                return report
            }
        }
        return report
    }
}
