// What the tool itself refuses. Errors of the store and the record layer come as they are; see `ErrorReport`.

/// An error of the tool: an open code, a message that says how to mend it, the variables as fields.
struct ToolError: Error, Sendable {
    struct Code: Hashable, Sendable {
        let name: String
        let exit: ExitStatus

        /// There is no record, zone or file of this name.
        static let notFound = Code(name: "notFound", exit: .notFound)
        /// A path of names leads to several records.
        static let ambiguous = Code(name: "ambiguous", exit: .failure)
        /// The request would do what was not asked for.
        static let refused = Code(name: "refused", exit: .failure)
        /// An argument makes no sense.
        static let usage = Code(name: "usage", exit: .usage)
        /// The results cannot be written.
        static let outputFailed = Code(name: "outputFailed", exit: .failure)
        /// A check found something.
        static let damaged = Code(name: "damaged", exit: .failure)
    }

    let code: Code
    let message: String
    let fields: [String: String]

    init(_ code: Code, _ message: String, _ fields: [String: String] = [:]) {
        self.code = code
        self.message = message
        self.fields = fields
    }
}
