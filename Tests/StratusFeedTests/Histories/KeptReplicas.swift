// The replicas of one person and place that are replayed after every step: each has a token of another age, and keeps
// it, however often it is continued. Each time the youngest one gets something new, its token is kept too. The older
// tokens are, the fewer stay: the nth stays until it is older than the largest power of four in n, so that there are
// always the latest, one of a few changes, one of a dozen, and one of many.

/// The stored replicas of one person and place.
struct KeptReplicas {
    private var kept: [(number: Int, reader: FeedReader)] = []
    private var count = 0

    /// The replicas at a token, the oldest first.
    var readers: [FeedReader] { kept.map(\.reader) }

    /// Stores a reader that has read to the end, unless its token is the youngest stored one.
    mutating func keep(_ reader: FeedReader) {
        guard kept.last?.reader.token != reader.token else { return }
        count += 1
        kept.append((count, reader))
        let latest = count
        kept.removeAll { latest - $0.number > Self.lifetime(of: $0.number) }
    }

    private static func lifetime(of number: Int) -> Int {
        var power = 1
        while number.isMultiple(of: power * 4) { power *= 4 }
        return power == 1 ? 0 : power
    }
}
