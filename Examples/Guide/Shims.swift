// The page about bringing an app's tests to Linux: the substitutes for parts of Apple's other frameworks.
//
// Public, because an app has each piece in a target of its own. It is what Apple documents, so that it needs no
// comments here.
//
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import Foundation

// snippet
/// Writes each message to standard error.
public struct Logger: Sendable {
    private let category: String

    public init(subsystem: String = "", category: String = "") { self.category = category }

    public func log(level: OSLogType = .default, _ message: OSLogMessage) {
        FileHandle.standardError.write(Data("\(level.rawValue) \(category): \(message.text)\n".utf8))
    }

    public func debug(_ message: OSLogMessage) { log(level: .debug, message) }
    public func info(_ message: OSLogMessage) { log(level: .info, message) }
    public func notice(_ message: OSLogMessage) { log(message) }
    public func warning(_ message: OSLogMessage) { log(level: .error, message) }
    public func error(_ message: OSLogMessage) { log(level: .error, message) }
    public func fault(_ message: OSLogMessage) { log(level: .fault, message) }
}

public enum OSLogType: String, Sendable { case `default`, debug, info, error, fault }
public enum OSLogPrivacy: Sendable { case auto, `public`, `private`, sensitive }

/// `"saved \(name, privacy: .public)"`: a test may see everything.
public struct OSLogMessage: ExpressibleByStringInterpolation, Sendable {
    public struct StringInterpolation: StringInterpolationProtocol, Sendable {
        var text = ""
        public init(literalCapacity: Int, interpolationCount: Int) {}
        public mutating func appendLiteral(_ literal: String) { text += literal }
        public mutating func appendInterpolation<Value>(_ value: Value, privacy: OSLogPrivacy = .auto) {
            text += "\(value)"
        }
    }

    let text: String
    public init(stringLiteral text: String) { self.text = text }
    public init(stringInterpolation: StringInterpolation) { text = stringInterpolation.text }
}
// end

// snippet
public struct OSSignpostID: Sendable { public static let exclusive = OSSignpostID() }
public struct OSSignpostIntervalState: Sendable {}

/// Measures nothing.
public struct OSSignposter: Sendable {
    public init(subsystem: String = "", category: String = "") {}
    public func makeSignpostID() -> OSSignpostID { OSSignpostID() }
    public func emitEvent(_ name: StaticString, id: OSSignpostID = .exclusive) {}
    public func beginInterval(_ name: StaticString, id: OSSignpostID = .exclusive) -> OSSignpostIntervalState {
        .init()
    }
    public func endInterval(_ name: StaticString, _ state: OSSignpostIntervalState) {}
    public func withIntervalSignpost<Answer>(
        _ name: StaticString, id: OSSignpostID = .exclusive, around task: () throws -> Answer
    ) rethrows -> Answer { try task() }
}
// end

// snippet
extension UserDefaults {
    public func setValue(_ value: Any?, forKey key: String) { set(value, forKey: key) }
    public func value(forKey key: String) -> Any? { object(forKey: key) }
}
// end

// snippet
public func autoreleasepool<Answer>(invoking body: () throws -> Answer) rethrows -> Answer { try body() }
// end
