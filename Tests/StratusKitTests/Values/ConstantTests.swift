// The constants have the values that clients store and compare.

import StratusKit
import Testing

@Suite struct ConstantTests {
    @Test("the owner name of the signed-in user is the one Apple's framework has")
    func owner() {
        #expect(CKCurrentUserDefaultName == "__defaultOwner__")
    }
}
