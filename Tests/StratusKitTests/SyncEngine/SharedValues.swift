// Values that a test and the callbacks it sets share.

import StratusStore

extension Locked where Value: Sendable {
    /// Sets the value, and returns the one before.
    func exchange(_ newValue: Value) -> Value {
        withLock { value in
            defer { value = newValue }
            return value
        }
    }
}

extension Locked {
    /// Appends to a list.
    func append<Element: Sendable>(_ element: Element) where Value == [Element] {
        withLock { $0.append(element) }
    }

    /// Takes the first of a list.
    func popFirst<Element: Sendable>() -> Element? where Value == [Element] {
        withLock { $0.isEmpty ? nil : $0.removeFirst() }
    }
}
