import Foundation
import StratusKit

let hostQueue = DispatchQueue(label: "host calls", attributes: .concurrent)

/// Makes a call that blocks, on a thread that may be blocked, while the task is suspended.
func hostCall<Answer: Sendable>(_ body: @escaping @Sendable () throws -> Answer) async throws -> Answer {
    try await withCheckedThrowingContinuation { continuation in
        hostQueue.async { continuation.resume(with: Result(catching: body)) }
    }
}
