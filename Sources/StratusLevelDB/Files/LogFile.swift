// Reads LevelDB's log format, in which commits and the MANIFEST are written.
//
// A log is cut into blocks of 32,768 bytes. A block holds fragments, none of which crosses its end:
//
//   checksum   4 bytes, little-endian: masked CRC-32C of type and payload
//   length     2 bytes, little-endian: of the payload
//   type       1 byte: 1 whole record, 2 first, 3 middle, 4 last fragment of a record
//   payload    `length` bytes
//
// At most six bytes of zeros fill a block's end. A writer that died leaves a fragment that is cut short at the end of
// the file: the log is *torn*, and what is before it counts. LevelDB takes every fragment that reaches past the end
// for torn. But the checksum does not cover the length, so a flipped length byte in the last block looks just like it,
// and LevelDB would silently lose the commits from there on. A torn fragment's payload is incomplete; a damaged length
// is given away by a shorter payload that fits the checksum.

enum LogFile {
    static let blockByteCount = 32_768
    private static let headerByteCount = 7

    enum End: Equatable {
        /// The last fragment ends with the file.
        case whole
        /// The writer died at this offset.
        case torn(offset: Int)
        /// What is at this offset was not written so.
        case damaged(offset: Int)
    }

    /// Visits the fragments from the one at `start`, as far as they are whole. A payload's indices are file offsets.
    static func forEachFragment(
        _ bytes: [UInt8], from start: Int = 0, _ visit: (_ type: UInt8, _ payload: ArraySlice<UInt8>) -> Void
    ) -> End {
        var offset = start
        while offset < bytes.count {
            let blockEnd = (offset / blockByteCount + 1) * blockByteCount
            if blockEnd - offset < headerByteCount {
                offset = min(blockEnd, bytes.count)
                continue
            }
            guard bytes.count - offset >= headerByteCount else { return .torn(offset: offset) }
            let stored = (0..<4).reduce(UInt32(0)) { $0 | UInt32(bytes[offset + $1]) << UInt32(8 * $1) }
            let length = Int(bytes[offset + 4]) | Int(bytes[offset + 5]) << 8
            let type = bytes[offset + 6]
            let payloadStart = offset + headerByteCount
            let end = payloadStart + length
            if type == 0 && length == 0 {
                // Zeros up to the end of the file: space that was reserved and never written.
                return bytes[offset...].allSatisfy { $0 == 0 } ? .torn(offset: offset) : .damaged(offset: offset)
            }
            if end > min(blockEnd, bytes.count) {
                let available = bytes[payloadStart..<min(blockEnd, bytes.count)]
                let isCut = end <= blockEnd && !hasShorterPayload(type, available, stored)
                return isCut ? .torn(offset: offset) : .damaged(offset: offset)
            }
            var checksum = Checksum.Running()
            checksum.add(type)
            checksum.add(bytes[payloadStart..<end])
            guard checksum.masked == stored, (1...4).contains(type) else { return .damaged(offset: offset) }
            visit(type, bytes[payloadStart..<end])
            offset = end
        }
        return .whole
    }

    private static func hasShorterPayload(_ type: UInt8, _ available: ArraySlice<UInt8>, _ stored: UInt32) -> Bool {
        var checksum = Checksum.Running()
        checksum.add(type)
        if checksum.masked == stored { return true }
        for byte in available {
            checksum.add(byte)
            if checksum.masked == stored { return true }
        }
        return false
    }

    /// How the last block of a log ends: the part in which LevelDB does not notice damage.
    static func lastBlockEnd(_ path: String) throws(SystemError) -> End {
        let byteCount = try FileSystem.status(path)?.byteCount ?? 0
        let start = byteCount / blockByteCount * blockByteCount
        switch forEachFragment(try FileSystem.read(path, from: start), { _, _ in }) {
        case .whole: return .whole
        case .torn(let offset): return .torn(offset: start + offset)
        case .damaged(let offset): return .damaged(offset: start + offset)
        }
    }
}
