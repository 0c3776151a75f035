// The option for development: a mistake ends the process where it is made.

import StratusKit
import Testing

@Suite struct MisuseTests {
    @Test("[X-25] a mistake traps at once where the host asks for it, and not otherwise")
    func trap() async {
        #expect(!StratusMisuse.trapsAtOnce)
        await #expect(processExitsWith: .failure) {
            StratusMisuse.trapsAtOnce = true
            CKRecord(recordType: "Note")["a b"] = 1
        }
        await #expect(processExitsWith: .success) {
            CKRecord(recordType: "Note")["a b"] = 1
        }
    }
}
