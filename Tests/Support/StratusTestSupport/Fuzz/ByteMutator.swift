// Turns valid inputs into damaged ones.

/// Damages inputs like files and attackers do, as its generator decides.
package struct ByteMutator: Sendable {
    /// No input grows beyond this.
    package static let maximumInputByteCount = 16_384

    private let corpus: [[UInt8]]
    private let dictionary: [[UInt8]]

    /// - Parameters:
    ///   - corpus: valid inputs to begin with and to splice from; at least one.
    ///   - dictionary: short pieces to insert; may be empty.
    package init(corpus: [[UInt8]], dictionary: [[UInt8]]) {
        precondition(!corpus.isEmpty, "There is nothing to mutate: pass at least one valid input.")
        self.corpus = corpus
        self.dictionary = dictionary
    }

    /// An input of the corpus with no to six mutations.
    package func input(_ random: inout SplitMix64) -> [UInt8] {
        var input = random.element(of: corpus)
        for _ in 0..<random.below(7) { mutate(&input, &random) }
        return Array(input.prefix(Self.maximumInputByteCount))
    }

    private func mutate(_ input: inout [UInt8], _ random: inout SplitMix64) {
        let place = random.below(input.count + 1)
        let isInside = place < input.count
        switch random.below(10) {
        case 0 where isInside: input[place] ^= 1 << UInt8(random.below(8))
        case 1 where isInside: input[place] = UInt8(random.below(256))
        case 2 where isInside: input[place] = random.isOne(in: 2) ? input[place] &+ 1 : input[place] &- 1
        case 3: input.removeSubrange(place...)
        case 4 where isInside: input.removeSubrange(place..<min(input.count, place + 1 + random.below(8)))
        case 5 where isInside:
            input.insert(contentsOf: input[place..<min(input.count, place + 1 + random.below(16))], at: place)
        case 6: input.insert(contentsOf: random.bytes(count: 1 + random.below(8)), at: place)
        case 7: splice(&input, at: place, &random)
        case 8 where isInside:
            input[place] = random.element(of: [0x00, 0x01, 0x7F, 0x80, 0xFE, 0xFF])
        default:
            guard !dictionary.isEmpty else { return }
            let piece = random.element(of: dictionary)
            if random.isOne(in: 2), place + piece.count <= input.count {
                input.replaceSubrange(place..<place + piece.count, with: piece)
            } else {
                input.insert(contentsOf: piece, at: place)
            }
        }
    }

    /// Continues the input from `place` on with the rest of another one.
    private func splice(_ input: inout [UInt8], at place: Int, _ random: inout SplitMix64) {
        let other = random.element(of: corpus)
        input.replaceSubrange(place..., with: other.suffix(random.below(other.count + 1)))
    }
}
