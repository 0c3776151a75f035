// Why an archive was refused, or an object could not be archived.

/// The refusal of an archive that did not decode, or of an object that cannot be archived.
public struct StratusArchiveError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kinds of refusals. More may come.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The name of the code, for logs.
        public let rawValue: String

        /// A code by its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The archive is larger than its reader allows.
        public static let tooLarge = Code(rawValue: "tooLarge")
        /// The data is no keyed archive.
        public static let notAnArchive = Code(rawValue: "notAnArchive")
        /// The archive contradicts itself.
        public static let damaged = Code(rawValue: "damaged")
        /// The archive holds another object than was asked for.
        public static let wrongClass = Code(rawValue: "wrongClass")
        /// The archive has a part that Stratus does not understand or has no place for. `fields` names it.
        public static let notUnderstood = Code(rawValue: "notUnderstood")
        /// The object cannot be archived: something in it is of a class that archives do not hold.
        public static let notArchivable = Code(rawValue: "notArchivable")
    }

    /// What kind of refusal it is.
    public let code: Code
    /// What is wrong.
    public let message: String
    /// What the message is about: names and numbers.
    public let fields: [String: String]

    init(_ code: Code, _ message: StaticString, _ fields: [String: String] = [:]) {
        self.code = code
        self.message = "\(message)"
        self.fields = fields
    }

    /// A line for a log.
    public var description: String {
        let variables = fields.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        return "\(code.rawValue): \(message)\(variables)"
    }
}
