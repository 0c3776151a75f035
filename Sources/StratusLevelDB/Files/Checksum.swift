// CRC-32C (Castagnoli), masked as LevelDB stores it.

enum Checksum {
    /// The table of the reflected polynomial 0x82F63B78.
    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? (value >> 1) ^ 0x82F6_3B78 : value >> 1 }
    }

    /// A checksum that grows byte by byte.
    struct Running {
        private var state: UInt32 = 0xFFFF_FFFF

        mutating func add(_ byte: UInt8) {
            state = Checksum.table[Int((state ^ UInt32(byte)) & 0xFF)] ^ (state >> 8)
        }

        mutating func add(_ bytes: ArraySlice<UInt8>) {
            let table = Checksum.table
            var state = state
            for byte in bytes { state = table[Int((state ^ UInt32(byte)) & 0xFF)] ^ (state >> 8) }
            self.state = state
        }

        /// The checksum as a log or table holds it: rotated and shifted, so that checksums of checksums stay apart.
        var masked: UInt32 {
            let value = ~state
            return ((value >> 15) | (value << 17)) &+ 0xA282_EAD8
        }
    }
}
