// How a call ended, as a value that tests compare and print.

import Foundation
package import StratusKit

/// How a call ended.
package enum Outcome: Hashable, Sendable, CustomStringConvertible {
    case done
    case refused(CKError.Code)
    /// An error that is none of CloudKit's: always a fault.
    case strange(String)

    package init(_ error: any Error) {
        self = (error as? CKError).map { .refused($0.code) } ?? .strange("\(error)")
    }

    package init<Value>(_ result: Result<Value, any Error>?) {
        switch result {
        case .success: self = .done
        case .failure(let error): self = Outcome(error)
        case nil: self = .strange("there is no answer")
        }
    }

    /// The outcome of `body`.
    package static func of(_ body: () async throws -> Void) async -> Outcome {
        do {
            try await body()
            return .done
        } catch { return Outcome(error) }
    }

    package var isDone: Bool { self == .done }

    package var description: String {
        switch self {
        case .done: "done"
        case .refused(let code): "\(code)"
        case .strange(let text): "strange: \(text)"
        }
    }
}

extension CKError.Code {
    /// The code that is written like this: `permissionFailure`.
    package init?(name: String) {
        guard let code = CKError.Code.allCases.first(where: { "\($0)" == name }) else { return nil }
        self = code
    }
}
