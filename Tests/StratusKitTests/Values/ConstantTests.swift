// The constants have the values that clients store and compare.

import StratusKit
import Testing

@Suite struct ConstantTests {
    @Test("the owner name of the signed-in user is that of Apple's framework")
    func owner() {
        #expect(CKCurrentUserDefaultName == "__defaultOwner__")
    }
}
