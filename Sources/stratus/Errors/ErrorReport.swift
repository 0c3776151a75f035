// Every error in one form: a few lines for people, one JSON object for programs.

import Foundation
import StratusCloud
import StratusKit
import StratusModel
import StratusRecords
import StratusStore
import Synchronization

struct ErrorReport {
    /// The machine-readable code.
    var code: String
    var message: String
    var fields: [String: String] = [:]
    var cause: String?
    /// The records that the request failed for, with the reason as JSON and in words.
    var refusals: [(record: RecordName, reason: JSONObject, text: String)] = []
    var exit: ExitStatus
}

extension ErrorReport {
    init(_ error: any Error) {
        self = Self.report(of: error)
        // The server may repeat its message as the cause.
        if cause == message { cause = nil }
        refusals.sort { $0.record < $1.record }
        for (path, shown) in Self.shownPaths.withLock({ $0 }) {
            fields = fields.mapValues { $0.replacingOccurrences(of: path, with: shown) }
            cause = cause?.replacingOccurrences(of: path, with: shown)
        }
    }

    private static func report(of error: any Error) -> ErrorReport {
        let refused = "The store refuses this; nothing was changed."
        switch error {
        case let error as ToolError:
            return ErrorReport(
                code: error.code.rawValue, message: error.message, fields: error.fields, exit: error.code.exit)
        case let error as RequestRefused:
            return ErrorReport(
                code: "refused", message: refused,
                refusals: error.refusals.map { ($0, reason(of: $1), $1.description) }, exit: .failure)
        case let error as ItemsRefused:
            let isMissing = !error.errors.isEmpty && error.errors.values.allSatisfy { $0.code.exit == .notFound }
            return ErrorReport(
                code: "refused", message: refused,
                refusals: error.errors.map { ($0, reason(of: $1), $1.localizedDescription) },
                exit: isMissing ? .notFound : .failure)
        case let error as CKError:
            let beneath = error.userInfo[NSUnderlyingErrorKey] as? NSError
            let cause = error.userInfo[NSLocalizedFailureReasonErrorKey] as? String ?? beneath?.localizedDescription
            return ErrorReport(
                code: "\(error.code)", message: error.localizedDescription, fields: fields(of: error), cause: cause,
                exit: error.userInfo[CKError.storeIsDamagedKey] as? Bool == true ? .corruption : error.code.exit)
        case let error as CloudError:
            let code = CKError.Code(rawValue: error.code.rawValue)
            return ErrorReport(
                code: code.map { "\($0)" } ?? "failed", message: error.message, fields: error.fields,
                cause: error.cause, exit: code?.exit ?? .failure)
        case let error as StratusError:
            return ErrorReport(
                code: error.code.description, message: error.message, fields: error.fields, cause: error.cause,
                exit: error.code.exit)
        case let error as StoreError:
            return ErrorReport(
                code: error.code.rawValue, message: error.message, fields: error.fields, cause: error.cause,
                exit: error.code.exit)
        default:
            return ErrorReport(code: "failed", message: "\(error)", exit: .failure)
        }
    }

    private static let shownPaths = Mutex<[String: String]>([:])

    /// Makes later errors name the store's path instead of the path of the copy that is read.
    static func show(_ path: String, insteadOf copy: String) { shownPaths.withLock { $0[copy] = path } }

    /// The variables of a CloudKit error.
    private static func fields(of error: CKError) -> [String: String] {
        error.userInfo.filter { !$0.key.hasPrefix("NS") && !$0.key.hasPrefix("CK") }.compactMapValues { $0 as? String }
    }

    var lines: [String] {
        let details: [(String, String)] =
            refusals.map { ($0.record.text, $0.text) } + fields.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
            + (cause.map { [("cause", $0)] } ?? [])
        return ["error: " + VisibleText.of(message)]
            + details.map { "  \(VisibleText.of($0)): \(VisibleText.of($1))" }
    }

    /// `{"error":{"code":…,"message":…,"fields":{…},"cause":…,"refusals":[…],"exitCode":…}}`
    var object: JSONObject {
        let error: JSONObject = [
            "code": code, "message": message, "fields": JSONObject(sorted: fields), "cause": cause,
            "refusals": refusals.map { ["record": $0.record.text] + $0.reason + ["text": $0.text] },
            "exitCode": Int(exit.rawValue),
        ]
        return ["error": error]
    }

    /// The reason and its variables. Programs read these names: never change them.
    private static func reason(of refusal: Refusal) -> JSONObject {
        switch refusal {
        case .parentMissing(let parent): ["reason": "parentMissing", "parent": parent.text]
        case .hasChildren(let child): ["reason": "hasChildren", "child": child.text]
        case .cycle(let parent): ["reason": "cycle", "parent": parent.text]
        case .tooDeep(let limit): ["reason": "tooDeep", "depthLimit": limit]
        case .alreadyShared(let conflict):
            [
                "reason": "alreadyShared", "place": "\(conflict.place)", "root": conflict.root.text,
                "share": conflict.share.text,
            ]
        }
    }

    private static func reason(of error: CKError) -> JSONObject {
        ["reason": "\(error.code)"] + JSONObject(sorted: fields(of: error).filter { $0.key != "record" })
    }
}
