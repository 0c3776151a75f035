// The small values of people: what leads to an account, what an owner uses, and what is left of a deleted account.

package import StratusModel

/// The account that a handle, a user record or the host's own identifier leads to. Bytes: version 1 · text: account.
package struct IdentityEntry: LayoutValue {
    package var account: AccountID

    package init(account: AccountID) { self.account = account }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        ValueWriter.append(account.text, to: &bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "IdentityEntry")
        try reader.expectVersion(1)
        account = AccountID(try reader.readText())
        try reader.expectEnd()
    }
}

/// How much an owner's zones hold, or one of them. Bytes: version 1 · number: bytes.
package struct UsageEntry: LayoutValue {
    package var byteCount: UInt64

    package init(byteCount: UInt64) { self.byteCount = byteCount }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        ValueWriter.append(number: byteCount, to: &bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "UsageEntry")
        try reader.expectVersion(1)
        byteCount = try reader.readNumber()
        try reader.expectEnd()
    }
}

/// A deleted account whose data is still being removed. Bytes: version 1 · text: account.
package struct DepartureEntry: LayoutValue {
    package var account: AccountID

    package init(account: AccountID) { self.account = account }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(1)
        ValueWriter.append(account.text, to: &bytes)
    }

    package init(decoding bytes: Span<UInt8>) throws(LayoutError) {
        var reader = ValueReader(bytes, "DepartureEntry")
        try reader.expectVersion(1)
        account = AccountID(try reader.readText())
        try reader.expectEnd()
    }
}
