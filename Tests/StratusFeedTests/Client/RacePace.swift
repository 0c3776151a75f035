// Interleaves readers and writers on any machine: a writer waits for a page now and then, and a reader for an act after
// each of its pages. No one waits by the clock.
//
// No one waits forever: a writer's act waits for at most as many pages as it has acts before it, so when all readers
// wait for an act, one of the writers may continue.

/// The acts of the racing people so far.
actor RacePace {
    private let writerCount: Int
    private var writersAtWork: Int
    private var readersAtWork: Int
    private var pageCount = 0
    private var actCount = 0
    private var waiting: [CheckedContinuation<Void, Never>] = []
    /// Pages that were read while all writers were at work.
    private(set) var pagesBesideAllWriters = 0

    init(writers: Int, readers: Int) {
        writerCount = writers
        writersAtWork = writers
        readersAtWork = readers
    }

    // MARK: Writers

    /// Returns after a number of pages were read, or when no reader is left.
    func waitForPages(_ count: Int) async {
        while pageCount < count, readersAtWork > 0 { await pause() }
    }

    func noteAct() {
        actCount += 1
        wake()
    }

    func noteEndOfWriter() {
        writersAtWork -= 1
        wake()
    }

    // MARK: Readers

    /// Counts a page, and returns how many acts there were before.
    func notePage() -> Int {
        pageCount += 1
        if writersAtWork == writerCount { pagesBesideAllWriters += 1 }
        wake()
        return actCount
    }

    /// Whether there were more acts: returns when there were, or no writer is left.
    func waitForAct(after count: Int) async -> Bool {
        while actCount <= count, writersAtWork > 0 { await pause() }
        return actCount > count
    }

    func noteEndOfReader() {
        readersAtWork -= 1
        wake()
    }

    var areWritersAtWork: Bool { writersAtWork > 0 }

    // MARK: Waiting

    private func pause() async {
        await withCheckedContinuation { waiting.append($0) }
    }

    private func wake() {
        let woken = waiting
        waiting = []
        for continuation in woken { continuation.resume() }
    }
}
