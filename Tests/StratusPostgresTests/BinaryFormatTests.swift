// Parameters and values, byte by byte.

import StratusStore
import Testing

@testable import StratusPostgres

@Suite struct BinaryFormatTests {
    private func bytes(_ build: (inout StatementParameters) -> Void) -> [UInt8] {
        var parameters = StatementParameters()
        build(&parameters)
        return parameters.bytes
    }

    @Test("numbers are big-endian")
    func numbers() {
        #expect(bytes { $0.add(Int64(0x0102_0304_0506_0708)) } == [1, 2, 3, 4, 5, 6, 7, 8])
        #expect(bytes { $0.add(Int64(-2)) } == [255, 255, 255, 255, 255, 255, 255, 254])
        #expect(bytes { $0.add(Int32(258)) } == [0, 0, 1, 2])
    }

    @Test("an array says its dimension, its element type, its count, and each element's length")
    func arrays() {
        let head: [UInt8] = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 17, 0, 0, 0, 2, 0, 0, 0, 1]
        #expect(bytes { $0.add(array: [[9], []]) } == head + [0, 0, 0, 1, 9, 0, 0, 0, 0])
        #expect(bytes { $0.add(array: [[UInt8]]()) } == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 17])
        #expect(bytes { $0.add(array: ["a"]) }.dropFirst(8).prefix(4) == [0, 0, 0, 25])
    }

    @Test("parameters are separate, also empty ones")
    func pointers() {
        var parameters = StatementParameters()
        parameters.add([1, 2])
        parameters.add([UInt8]())
        parameters.add([3])
        let read = unsafe parameters.withPointers { values, lengths, formats in
            (0..<3).map { index -> [UInt8] in
                let count = unsafe Int(lengths?[index] ?? -1)
                guard let start = unsafe values?[index], unsafe formats?[index] == 1 else { return [99] }
                return (0..<count).map { unsafe UInt8(bitPattern: start[$0]) }
            }
        }
        #expect(read == [[1, 2], [], [3]])
    }

    @Test("a value of another length is an error")
    func decoding() throws {
        #expect(try BinaryFormat.integer([0, 0, 1, 2].span, as: Int32.self) == 258)
        #expect(try BinaryFormat.integer([255, 254].span, as: Int16.self) == -2)
        #expect(throws: StoreError.self) { try BinaryFormat.integer([1, 2].span, as: Int64.self) }
        #expect(throws: StoreError.self) { try BinaryFormat.truth([1, 0].span) }
    }
}
