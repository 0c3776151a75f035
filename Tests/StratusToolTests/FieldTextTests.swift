// Values of fields as the command line and JSON say them.

import Foundation
import StratusModel
import Testing

@testable import stratus

@Suite struct FieldTextTests {
    @Test("an assignment is parsed as a value of its type, and refused if it is invalid")
    func assignments() throws {
        #expect(try FieldAssignment("a=b=c").value == .string("b=c"))
        #expect(try FieldAssignment("a:int64=-5").value == .int64(-5))
        let place = try FieldAssignment("a:location=90,-180").value
        guard case .location(let location) = place else {
            Issue.record("no place: \(place)")
            return
        }
        #expect(location.latitudeDegrees == 90)
        #expect(location.longitudeDegrees == -180)
        for wrong in [
            "a", "=b", "a:int64=1.5", "a:other=b", "a:bytes=abc", "a:location=90.1,0", "a:location=0,180.1",
            "a:location=1",
        ] {
            #expect(throws: ToolError.self, "\(wrong)") { try FieldAssignment(wrong) }
        }
    }

    @Test("integers beyond 2^53 in JSON are read exactly, and rounded ones are refused")
    func wholeNumbers() throws {
        func value(_ text: String) throws -> FieldValue? {
            FieldJSON.value(of: try JSONSerialization.jsonObject(with: Data(text.utf8)))
        }
        #expect(try value("{\"type\":\"int64\",\"value\":9007199254740993}") == .int64(9_007_199_254_740_993))
        #expect(try value("{\"type\":\"int64\",\"value\":-9223372036854775808}") == .int64(.min))
        #expect(try value("{\"type\":\"int64\",\"value\":9223372036854775808}") == nil)
        #expect(try value("{\"type\":\"int64\",\"value\":1.5}") == nil)
    }
}
