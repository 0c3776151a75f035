// Walks the writes of one group as they were when the walk began.
//
// Invariant: a body may write while it scans. The scan goes on over the state at its beginning: entries written later
// are passed over, and the place is looked up again when it may have moved.
//
// Unsafe: an entry's bytes lie in the group's arena, which neither moves nor shrinks during a body.

internal import StratusStore

@unsafe struct OverlayCursor {
    private let group: LaneGroup
    private let lower: EngineBytes
    private let upper: EngineBytes
    private let direction: ScanDirection
    private let entryCount: Int
    private var structureVersion: Int
    private var position: PendingPosition?
    /// The entry the cursor stands on, or nil behind the last of the range.
    private(set) var current: PendingEntry?

    init(_ group: LaneGroup, _ lower: EngineBytes, _ upper: EngineBytes, _ direction: ScanDirection) {
        unsafe self.group = group
        unsafe self.lower = unsafe lower
        unsafe self.upper = unsafe upper
        unsafe self.direction = direction
        unsafe entryCount = group.writes.entryCount
        unsafe structureVersion = group.writes.structureVersion
        switch direction {
        case .forward: unsafe position = unsafe group.writes.position(atOrAfter: lower)
        case .backward: unsafe position = unsafe group.writes.position(before: upper)
        }
        unsafe settle()
    }

    mutating func move() {
        guard let entry = unsafe current else { return }
        if unsafe structureVersion != group.writes.structureVersion {
            unsafe position = unsafe group.writes.position(atOrAfter: entry.key)
            unsafe structureVersion = group.writes.structureVersion
        }
        unsafe step()
        unsafe settle()
    }

    private mutating func step() {
        guard let position = unsafe position else { return }
        switch unsafe direction {
        case .forward: unsafe self.position = unsafe group.writes.position(after: position)
        case .backward: unsafe self.position = unsafe group.writes.position(before: position)
        }
    }

    /// Goes on to the next entry that was there when the scan began.
    private mutating func settle() {
        while let place = unsafe position, let newest = unsafe group.writes.entry(at: place, before: .max),
            unsafe newest.key.isInside(lower, upper, direction)
        {
            if let entry = unsafe group.writes.entry(at: place, before: entryCount) {
                unsafe current = unsafe entry
                return
            }
            unsafe step()
        }
        unsafe current = nil
    }
}
