// A fuzz target: a decoder, valid inputs to begin with, and the invariants for any input.
//
// To add a target: write an extension file `FuzzTarget+Name.swift` with a static property and list it in `all`.

/// A decoder that must survive any bytes.
package struct FuzzTarget: Sendable {
    /// The result of one input.
    package enum Verdict: Hashable, Sendable {
        /// The decoder refused the bytes with an error of its own.
        case refused
        /// The decoder accepted the bytes, and all invariants hold.
        case accepted
        /// The decoder read the bytes, and something is wrong.
        case violation(String)
    }

    /// Its name on the command line.
    package let name: String
    /// Short pieces of input that mean something to the decoder; they are inserted into inputs.
    package let dictionary: [[UInt8]]
    /// Makes one valid input.
    package let validInput: @Sendable (inout SplitMix64) -> [UInt8]
    /// Decodes an input and checks the invariants. It catches only the decoder's own errors: a trap ends the run.
    package let check: @Sendable ([UInt8]) -> Verdict

    package init(
        name: String, dictionary: [[UInt8]], validInput: @escaping @Sendable (inout SplitMix64) -> [UInt8],
        check: @escaping @Sendable ([UInt8]) -> Verdict
    ) {
        self.name = name
        self.dictionary = dictionary
        self.validInput = validInput
        self.check = check
    }

    /// Every target the fuzzer knows.
    package static var all: [FuzzTarget] {
        [.tuple, .key, .record, .account, .schemaText, .schemaEntry, .share, .subscription]
    }
}
