// Sharing in the style of operations and their blocks, like programs since 2016.

import CloudKit

/// Looks people up, and deals with the URLs that they are sent.
public final class InvitationDesk: @unchecked Sendable {
    // @unchecked because the lock guards the log.
    private let container: CKContainer
    private let lock = NSLock()
    private var lines: [String] = []

    /// A desk in a container.
    public init(container: CKContainer) {
        self.container = container
    }

    /// What happened so far.
    public var log: [String] {
        lock.lock()
        defer { lock.unlock() }
        return lines
    }

    private func write(_ line: String) {
        lock.lock()
        defer { lock.unlock() }
        lines.append(line)
    }

    /// Looks people up, and passes on those who were found.
    public func lookUp(_ emails: [String], completion: @escaping @Sendable ([CKShare.Participant]) -> Void) {
        let infos = CKUserIdentity.LookupInfo.lookupInfos(withEmails: emails)
        let operation = CKFetchShareParticipantsOperation(userIdentityLookupInfos: infos)
        var found: [CKShare.Participant] = []
        operation.perShareParticipantResultBlock = { info, result in
            switch result {
            case .success(let participant):
                found.append(participant)
                self.write("found \(info.emailAddress ?? "nobody")")
            case .failure(let error):
                self.write("\(info.emailAddress ?? "nobody"): \((error as? CKError)?.code.rawValue ?? 0)")
            }
        }
        operation.fetchShareParticipantsResultBlock = { [self] result in
            if case .failure(let error) = result { write("failed: \(error.localizedDescription)") }
            completion(found)
        }
        operation.qualityOfService = .userInitiated
        container.add(operation)
    }

    /// Accepts the acceptable ones of some URLs, like an app that is opened with them.
    public func open(_ urls: [URL], completion: @escaping @Sendable ([CKShare]) -> Void) {
        let fetching = CKFetchShareMetadataOperation(shareURLs: urls)
        fetching.shouldFetchRootRecord = true
        fetching.rootRecordDesiredKeys = ["title"]
        var metadatas: [CKShare.Metadata] = []
        fetching.perShareMetadataResultBlock = { url, result in
            switch result {
            case .success(let metadata):
                metadatas.append(metadata)
                self.write("invited to \(metadata.rootRecord?["title"] as? String ?? "something")")
            case .failure(let error):
                self.write("\(url.lastPathComponent): \((error as? CKError)?.code.rawValue ?? 0)")
            }
        }
        fetching.fetchShareMetadataResultBlock = { [self] _ in accept(metadatas, completion: completion) }
        container.add(fetching)
    }

    private func accept(_ metadatas: [CKShare.Metadata], completion: @escaping @Sendable ([CKShare]) -> Void) {
        let accepting = CKAcceptSharesOperation(shareMetadatas: metadatas)
        var shares: [CKShare] = []
        accepting.perShareResultBlock = { _, result in
            if let share = try? result.get() {
                shares.append(share)
                self.write("joined \(share[CKShare.SystemFieldKey.title] as? String ?? "something")")
            }
        }
        accepting.acceptSharesResultBlock = { _ in completion(shares) }
        container.add(accepting)
    }
}
