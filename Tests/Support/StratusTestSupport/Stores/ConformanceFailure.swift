// The error of everything here that judges a store.

/// What is wrong with a store, in words.
package struct ConformanceFailure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
