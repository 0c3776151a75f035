// Every error in one form: for people a few lines that name the thing and the remedy, for programs one JSON object.

import ArgumentParser
import Foundation
import StratusCloud
import StratusKit
import StratusLayout
import StratusModel
import StratusRecords
import StratusStore
import Synchronization

struct ErrorReport {
    var code: String
    var message: String
    var fields: [String: String] = [:]
    var cause: String?
    var refusals: [RecordName: Refusal] = [:]
    /// The records that a request through CloudKit failed for.
    var items: [RecordName: CKError] = [:]
    var exit: ExitStatus

    init(_ error: any Error) {
        switch error {
        case let error as ToolError:
            self.init(code: error.code.name, message: error.message, fields: error.fields, exit: error.code.exit)
        case let error as RequestRefused:
            self.init(
                code: "refused", message: "The store refuses this; nothing was changed.", refusals: error.refusals,
                exit: .failure)
        case let error as ItemsRefused:
            self.init(code: "refused", message: "The store refuses this; nothing was changed.", exit: .failure)
            items = error.errors
        case let error as CKError:
            self.init(cloudError: error)
        case let error as CloudError:
            let code = CKError.Code(rawValue: error.code.rawValue).map { "\($0)" } ?? "failed"
            self.init(
                code: code, message: error.message, fields: error.fields, cause: error.cause, exit: Self.exit(code))
        case let error as StratusError:
            self.init(
                code: error.code.description, message: error.message, fields: error.fields, cause: error.cause,
                exit: Self.exit(error.code.description))
        case let error as RecordsError:
            self.init(
                code: error.code.description, message: error.message, fields: error.fields, cause: error.cause,
                exit: Self.exit(error.code.description))
        case let error as StoreError:
            self.init(
                code: error.code.description, message: error.message, fields: error.fields, cause: error.cause,
                exit: Self.exit(error.code.description))
        case let error as LayoutError:
            self.init(
                code: error.code.description, message: error.message, fields: error.fields,
                exit: error.isCorruption ? .corruption : .failure)
        default:
            self.init(code: "failed", message: "\(error)", exit: .failure)
        }
        // Servers say the same twice.
        if cause == message { cause = nil }
        for (path, shown) in Self.shownPaths.withLock({ $0 }) {
            fields = fields.mapValues { $0.replacingOccurrences(of: path, with: shown) }
            cause = cause?.replacingOccurrences(of: path, with: shown)
        }
    }

    private static let shownPaths = Mutex<[String: String]>([:])

    /// Has errors from here on name another path: that of the store where a copy of it is read.
    static func show(_ path: String, insteadOf copy: String) { shownPaths.withLock { $0[copy] = path } }

    private init(
        code: String, message: String, fields: [String: String] = [:], cause: String? = nil,
        refusals: [RecordName: Refusal] = [:], exit: ExitStatus
    ) {
        self.code = code
        self.message = message
        self.fields = fields
        self.cause = cause
        self.refusals = refusals
        self.exit = exit
    }

    /// An error of a request as a whole.
    private init(cloudError error: CKError) {
        let beneath = error.userInfo[NSUnderlyingErrorKey] as? NSError
        let cause = error.userInfo[NSLocalizedFailureReasonErrorKey] as? String ?? beneath?.localizedDescription
        self.init(
            code: "\(error.code)", message: error.localizedDescription,
            fields: Self.fields(of: error), cause: cause,
            exit: cause?.hasPrefix("corruption") == true ? .corruption : Self.exit("\(error.code)"))
    }

    /// What an error of CloudKit's names beside its text.
    private static func fields(of error: CKError) -> [String: String] {
        error.userInfo.filter { !$0.key.hasPrefix("NS") && !$0.key.hasPrefix("CK") }.compactMapValues { $0 as? String }
    }

    private static func exit(_ code: String) -> ExitStatus {
        switch code {
        case "unknownZone", "unknownRecord", "zoneNotFound", "unknownItem", "unknownShare", "unknownAccount": .notFound
        case "held", "notAStore", "newerFormat", "olderFormat", "notPermitted": .notOpened
        case "corruption": .corruption
        // A predicate, say, that is none.
        case "invalidArguments": .usage
        default: .failure
        }
    }

    var lines: [String] {
        var lines = ["error: " + VisibleText.of(message)]
        for (name, refusal) in refusals.sorted(by: { $0.key < $1.key }) {
            lines.append("  \(VisibleText.of(name.text)): \(VisibleText.of(refusal.description))")
        }
        for (name, error) in items.sorted(by: { $0.key < $1.key }) {
            lines.append("  \(VisibleText.of(name.text)): \(VisibleText.of(error.localizedDescription))")
        }
        for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
            lines.append("  \(name): \(VisibleText.of(value))")
        }
        if let cause { lines.append("  cause: \(VisibleText.of(cause))") }
        return lines
    }

    /// `{"error":{"code":…,"message":…,"fields":{…},"cause":…,"refusals":[…],"exitCode":…}}`
    var object: JSONObject {
        var error: JSONObject = ["code": .string(code), "message": .string(message)]
        error.add("fields", .object(JSONObject(sorted: fields)))
        error.add("cause", JSONValue(cause))
        let refused = refusals.sorted { $0.key < $1.key }.map { name, refusal in
            JSONValue.object(Self.object(of: refusal, for: name))
        }
        let failed = items.sorted { $0.key < $1.key }.map { name, error in
            var object: JSONObject = ["record": .string(name.text), "reason": .string("\(error.code)")]
            for (key, value) in Self.fields(of: error).sorted(by: { $0.key < $1.key }) where key != "record" {
                object.add(key, .string(value))
            }
            object.add("text", .string(error.localizedDescription))
            return JSONValue.object(object)
        }
        error.add("refusals", .array(refused + failed))
        error.add("exitCode", JSONValue(Int(exit.rawValue)))
        return ["error": .object(error)]
    }

    /// Names of reasons and their variables; they never change.
    private static func object(of refusal: Refusal, for name: RecordName) -> JSONObject {
        var object: JSONObject = ["record": .string(name.text)]
        switch refusal {
        case .parentMissing(let parent):
            object.add("reason", "parentMissing")
            object.add("parent", .string(parent.text))
        case .hasChildren(let child):
            object.add("reason", "hasChildren")
            object.add("child", .string(child.text))
        case .cycle(let parent):
            object.add("reason", "cycle")
            object.add("parent", .string(parent.text))
        case .tooDeep(let limit):
            object.add("reason", "tooDeep")
            object.add("depthLimit", JSONValue(limit))
        case .alreadyShared(let conflict):
            object.add("reason", "alreadyShared")
            object.add("place", .string("\(conflict.place)"))
            object.add("root", .string(conflict.root.text))
            object.add("share", .string(conflict.share.text))
        }
        object.add("text", .string(refusal.description))
        return object
    }
}
