// The zones that cached names lie in, each with a short number, so that a slot spends four bytes on its zone and a
// deleted zone is forgotten at once: its number loses its key, and its slots can be found no more.
//
// Invariant: a number is given away again only when no slot carries it.

/// Zones by number, with the count of slots in each.
struct CachedZones {
    private struct Zone {
        var key: CacheZone?
        var slotCount: Int
    }

    /// The most bytes one zone takes: its place in `zones` and `free`, and in a dictionary that has just doubled.
    static let byteCountPerZone = 128

    private var zones: [Zone] = []
    private var free: [UInt32] = []
    private var numbers: [CacheZone: UInt32] = [:]
    /// A zone that had slots already when the last one came: mostly that of the next.
    private var last: (key: CacheZone, number: UInt32)?

    var byteCount: Int { zones.count * CachedZones.byteCountPerZone }

    /// The bytes that must be added before `retain(key)`.
    func growthByteCount(for key: CacheZone) -> Int {
        free.isEmpty && number(of: key) == nil ? CachedZones.byteCountPerZone : 0
    }

    func isZone(_ number: UInt32, _ key: CacheZone) -> Bool {
        zones[Int(number)].key == key
    }

    private func number(of key: CacheZone) -> UInt32? {
        if let last, last.key == key { return last.number }
        return numbers[key]
    }

    /// The number of a zone, for one slot more.
    mutating func retain(_ key: CacheZone) -> UInt32 {
        if let number = number(of: key) {
            zones[Int(number)].slotCount += 1
            last = (key, number)
            return number
        }
        let zone = Zone(key: key, slotCount: 1)
        let number: UInt32
        if let reused = free.popLast() {
            number = reused
            zones[Int(number)] = zone
        } else {
            number = UInt32(zones.count)
            zones.append(zone)
        }
        numbers[key] = number
        return number
    }

    mutating func release(_ number: UInt32) {
        zones[Int(number)].slotCount -= 1
        guard zones[Int(number)].slotCount == 0 else { return }
        if let key = zones[Int(number)].key {
            numbers[key] = nil
            last = nil
        }
        zones[Int(number)].key = nil
        free.append(number)
    }

    /// Makes all slots of a zone unreachable.
    mutating func forget(_ key: CacheZone) {
        guard let number = numbers.removeValue(forKey: key) else { return }
        last = nil
        zones[Int(number)].key = nil
    }
}
