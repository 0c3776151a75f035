// The LevelDB version that syncs logs during the insertion. The fault tests show what that changes.

import Testing

@testable import StratusLevelDB

@Suite struct LogSyncTests {
    @Test("only LevelDB 1.23 syncs logs in the background, and no other version")
    func versions() {
        for major in 0..<4 {
            for minor in 0..<100 {
                let isSupported = EngineLogSync.supports(majorVersion: major, minorVersion: minor)
                #expect(isSupported == (major == 1 && minor == 23))
            }
        }
    }
}
