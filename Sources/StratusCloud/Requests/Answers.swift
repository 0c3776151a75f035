// Who asks, and how answers hold the results of single items. A request as a whole fails by throwing a `CloudError`; an
// item fails in its place of the answer.

package import StratusModel

/// Who asks, and in which container.
package struct Caller: Hashable, Codable, Sendable {
    package var container: ContainerName
    /// Nil if no account is signed in: then only the public database can be read (S-17).
    package var account: AccountID?
    /// The name of the account's device that asks; nil if it is not one that gets notifications (N-05).
    package var device: String?

    package init(container: ContainerName, account: AccountID?, device: String? = nil) {
        self.container = container
        self.account = account
        self.device = device
    }
}

extension Result where Failure == CloudError {
    /// The result of an item that may fail alone. The store's failures are those of the request.
    static func item(_ body: () throws -> Success) throws -> Self {
        do { return .success(try body()) } catch let error as CloudError { return .failure(error) }
    }
}

/// An answer that holds nothing.
package struct Done: Codable, Sendable {
    package init() {}
}

/// Answers of single items, in the order of the request: each is a value or the item's error.
@propertyWrapper
package struct ItemResults<Value: Codable & Sendable>: Codable, Sendable {
    package var wrappedValue: [Result<Value, CloudError>]

    package init(wrappedValue: [Result<Value, CloudError>]) { self.wrappedValue = wrappedValue }

    package init(from decoder: any Decoder) throws {
        wrappedValue = try [EncodedItem<Value>](from: decoder).map(\.result)
    }

    package func encode(to encoder: any Encoder) throws {
        try wrappedValue.map(EncodedItem.init).encode(to: encoder)
    }
}

/// The answer of a request that is a list of items and nothing else.
package struct ItemList<Value: Codable & Sendable>: Codable, Sendable {
    @ItemResults package var items: [Result<Value, CloudError>]

    package init(_ items: [Result<Value, CloudError>]) { self.items = items }
}

private struct EncodedItem<Value: Codable & Sendable>: Codable {
    var value: Value?
    var error: CloudError?

    init(_ result: Result<Value, CloudError>) {
        switch result {
        case .success(let value): self.value = value
        case .failure(let error): self.error = error
        }
    }

    var result: Result<Value, CloudError> {
        if let value { return .success(value) }
        return .failure(error ?? CloudError(.internalError, "The server's answer for an item is empty."))
    }
}
