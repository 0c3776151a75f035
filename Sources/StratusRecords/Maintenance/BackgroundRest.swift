// How long work in the background rests between two batches.

/// Seconds for which others have the store to themselves.
package enum BackgroundRest {
    /// About as long as a batch takes of work that somebody may wait for: clients get every other turn at least.
    package static let shortSeconds = 0.004

    /// A purge takes one part in so many of the time: nobody waits for the room that it makes.
    private static let purgeTurnCount = 8.0
    /// A batch that took long, because others stood in front of it, is no reason to rest for ever.
    private static let longestSeconds = 0.25

    /// The rest behind a batch of a purge that has taken `workedSeconds`.
    static func seconds(afterPurgingFor workedSeconds: Double) -> Double {
        min(workedSeconds * (purgeTurnCount - 1), longestSeconds)
    }
}
