// What each item of a zone is answered when some cannot be done: the record layer's refusals in the server's words, and
// how a failure spreads to the other items.

import StratusModel
import StratusRecords

extension Refusal {
    /// The error of the item that was refused.
    func error(_ name: RecordName) -> CloudError {
        let fields = ["record": name.text]
        switch self {
        case .parentMissing(let parent):
            return CloudError(
                .referenceViolation,
                text: "Record save would violate validating reference ([\(parent)]), rejecting update", fields)
        case .hasChildren(let child):
            return CloudError(
                .referenceViolation,
                text: "Record delete would violate validating reference ([\(child)]), rejecting update", fields)
        case .cycle(let parent):
            return CloudError(
                .referenceViolation,
                text: "Record save would make \(name) its own ancestor by its parent ([\(parent)]), rejecting update",
                fields)
        case .tooDeep(let limit):
            return CloudError(
                .limitExceeded, inner: CloudError.InnerCode.limit,
                "The record would lie too deep in its hierarchy: move it up.",
                ["record": name.text, "limit": "\(limit)"])
        case .alreadyShared(let conflict):
            return CloudError(
                .alreadyShared, "The record would be in two shares: take it out of one of them.",
                ["record": name.text, "root": conflict.root.text, "share": conflict.share.text])
        }
    }
}

/// How failures spread in one zone.
enum FailureSpread {
    /// The error that every other item of a failed atomic zone gets.
    static var batchRequestFailed: CloudError {
        CloudError(
            .batchRequestFailed, inner: CloudError.InnerCode.batch,
            "Another item of the zone failed, so nothing of it was done: mend that item, then save all again.")
    }

    /// What a save is answered whose parent is in the same request and failed with `error`; nil when the parent's
    /// failure says nothing about the child.
    static func childError(ofParentFailing error: CloudError, _ name: RecordName) -> CloudError? {
        switch error.code {
        case .quotaExceeded:
            CloudError(.quotaExceeded, "The parent was not saved for lack of room.", ["record": name.text])
        case .referenceViolation, .internalError:
            CloudError(
                .internalError, "The parent was not saved, for its own parent is missing.", ["record": name.text])
        default: nil
        }
    }

    /// The errors of all items of a failed atomic zone: their own, their parents', or `batchRequestFailed`.
    ///
    /// `items` are all of them, each with the parent a save would have had; `errors` belong to those that failed by
    /// themselves.
    static func atomicErrors(
        _ items: [(name: RecordName, parent: RecordName?)], own errors: [RecordName: CloudError]
    ) -> [RecordName: CloudError] {
        var parents: [RecordName: RecordName?] = [:]
        for item in items { parents[item.name] = .some(item.parent) }
        var result = errors
        for item in items where result[item.name] == nil {
            // Walks up while parents are items that have no answer yet; then down again.
            var path = [item.name]
            var seen: Set<RecordName> = [item.name]
            var above: CloudError?
            while let last = path.last, case .some(.some(let parent)) = parents[last], parents[parent] != nil {
                above = result[parent]
                guard above == nil, seen.insert(parent).inserted else { break }
                path.append(parent)
            }
            for name in path.reversed() {
                let error = above.flatMap { childError(ofParentFailing: $0, name) } ?? batchRequestFailed
                result[name] = error
                above = error
            }
        }
        return result
    }
}
