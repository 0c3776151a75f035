// What can go wrong in the record layer. A refusal of a request is not an error but an answer: see `Refusal`.

/// An error of the record layer: an open code, a message that says how to mend it, the variables as fields, the cause.
package struct RecordsError: Error, Sendable, CustomStringConvertible {
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        package let description: String

        /// The zone does not exist.
        package static let unknownZone = Code(description: "unknownZone")
        /// The record does not exist.
        package static let unknownRecord = Code(description: "unknownRecord")
        /// The request contradicts itself or breaks a limit; nothing of it was carried out.
        package static let invalidRequest = Code(description: "invalidRequest")
        /// A record lies deeper in its hierarchy than the limit allows to walk.
        package static let hierarchyTooDeep = Code(description: "hierarchyTooDeep")
        /// A transaction is larger than the store takes.
        package static let tooLarge = Code(description: "tooLarge")
        /// What is stored contradicts itself.
        package static let corruption = Code(description: "corruption")
        /// The store was written in a format this version does not know.
        package static let newerFormat = Code(description: "newerFormat")
        /// The store was written in an older format: migrate it first.
        package static let olderFormat = Code(description: "olderFormat")
        /// The store takes no requests now.
        package static let unavailable = Code(description: "unavailable")
        /// The store holds something, but not records of ours.
        package static let notAStore = Code(description: "notAStore")
        /// A token or a position is older than what the store remembers.
        package static let expired = Code(description: "expired")
        /// Indexes are being rebuilt, which excludes this request until it is done.
        package static let rebuilding = Code(description: "rebuilding")
    }

    package let code: Code
    package let message: String
    package let fields: [String: String]
    package let cause: String?

    package init(_ code: Code, _ message: StaticString, _ fields: [String: String] = [:], cause: String? = nil) {
        self.init(code, message: "\(message)", fields, cause: cause)
    }

    init(_ code: Code, message: String, _ fields: [String: String], cause: String?) {
        self.code = code
        self.message = message
        self.fields = fields
        self.cause = cause
    }

    package var description: String {
        let variables = fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        let details = (variables + (cause.map { ["cause: \($0)"] } ?? [])).joined(separator: ", ")
        return details.isEmpty ? "\(code): \(message)" : "\(code): \(message) (\(details))"
    }
}
