// The names a share root answers with: its own and its share's. Share roots are few, and every question about a share
// ends at one, so their names are kept ready as text, where all other names are bytes in the arena.
//
// Invariant: a mark belongs to exactly one value of the table, that of the slot in `slots`.

import StratusModel

/// The share marks of cached values, by number.
struct ShareMarks {
    struct Mark {
        var root: RecordName
        var share: RecordName
    }

    /// The most one mark takes beside its texts: its places in `marks`, `slots` and `free` while those arrays are being
    /// doubled.
    private static let byteCountPerMark = 3 * (MemoryLayout<Mark>.stride + 2 * MemoryLayout<UInt32>.stride)

    /// Places looked at for one mark, of which many may be free where many marks have gone.
    private static let stepLimit = 1_024

    private var marks: [Mark] = []
    /// The slot that each mark belongs to, or `AncestorTable.none`.
    private var slots: [UInt32] = []
    private var hand = 0
    private var free: [UInt32] = []
    /// What the texts take now, and what they have ever taken: that stays for others of them, like places do.
    private var textByteCount = 0
    private var keptTextByteCount = 0

    var byteCount: Int { marks.count * ShareMarks.byteCountPerMark + keptTextByteCount }

    subscript(number: UInt32) -> Mark { marks[Int(number)] }

    /// The bytes that must be added before `insert`; with `replacing`, where as many marks as need be were removed before.
    func growthByteCount(forText byteCount: Int, replacing: Bool = false) -> Int {
        let needsPlace = replacing ? marks.isEmpty : free.isEmpty
        return (needsPlace ? ShareMarks.byteCountPerMark : 0)
            + max(0, (replacing ? 0 : textByteCount) + byteCount - keptTextByteCount)
    }

    /// The bytes of a mark's texts.
    static func textByteCount(rootByteCount: Int, shareByteCount: Int) -> Int {
        heapByteCount(forTextOf: rootByteCount) + heapByteCount(forTextOf: shareByteCount)
    }

    mutating func insert(_ mark: Mark, of slot: UInt32) -> UInt32 {
        textByteCount += ShareMarks.heapByteCount(of: mark)
        keptTextByteCount = max(keptTextByteCount, textByteCount)
        guard let number = free.popLast() else {
            marks.append(mark)
            slots.append(slot)
            return UInt32(marks.count - 1)
        }
        marks[Int(number)] = mark
        slots[Int(number)] = slot
        return number
    }

    /// The slot of the mark whose turn it is to go: places take turns, whenever their marks came. Nil when there is none near;
    /// the next call goes on looking.
    mutating func next() -> UInt32? {
        for _ in 0..<min(marks.count, ShareMarks.stepLimit) {
            hand = hand + 1 < marks.count ? hand + 1 : 0
            if slots[hand] != AncestorTable.none { return slots[hand] }
        }
        return nil
    }

    mutating func remove(_ number: UInt32) {
        textByteCount -= ShareMarks.heapByteCount(of: marks[Int(number)])
        marks[Int(number)] = Mark(root: "", share: "")
        slots[Int(number)] = AncestorTable.none
        free.append(number)
    }

    private static func heapByteCount(of mark: Mark) -> Int {
        textByteCount(
            rootByteCount: mark.root.text.utf8.count, shareByteCount: mark.share.text.utf8.count)
    }

    /// What a `String` of so many bytes takes on the heap: nothing up to 15, else the allocator's and the object's
    /// headers, the bytes and a terminator, in steps of 16.
    private static func heapByteCount(forTextOf count: Int) -> Int {
        count <= 15 ? 0 : 16 + 32 + (count + 16) / 16 * 16
    }
}
