// The server's errors as text.

import StratusCloud
import Testing

@Suite struct CloudErrorTests {
    @Test("an error prints its number, its message and its variables")
    func description() {
        let error = CloudError(.unknownItem, inner: 2003, "Record not found.", ["record": "a"])
        #expect(error.description == "11/2003: Record not found. (record=a)")
    }
}
