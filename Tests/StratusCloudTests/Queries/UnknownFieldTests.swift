// The fields in queries that no record has had, and the warnings to the host.

import Foundation
import StratusModel
import Testing

@testable import StratusCloud

@Suite("unknown fields")
struct UnknownFieldTests {
    @Test("[X-31] of more than 1,000 unknown fields the least recently used is forgotten, and warned about again")
    func bound() {
        let fields = UnknownFields(incarnation: UUID(), memory: UnknownFields.Memory())
        func warningCount(_ field: String) -> Int {
            fields.note([FieldKey(field)], of: "Note", in: "iCloud.test")
            return fields.takeWarnings().count
        }
        #expect(warningCount("first") == 1)
        #expect(warningCount("first") == 0)
        for number in 0..<1_000 { #expect(warningCount("field\(number)") == 1) }
        #expect(warningCount("first") == 1)
        #expect(warningCount("field999") == 0)
    }
}
