// The sharing operations and the container's calls, with a server that answers as the test says.

import Foundation
@testable import StratusCloud
import StratusModel
import StratusStore
import Testing

@testable import StratusKit

/// The deprecated blocks, reachable without a warning.
private protocol LegacyFetchShareParticipants: AnyObject {
    var shareParticipantFetchedBlock: ((CKShare.Participant) -> Void)? { get set }
    var fetchShareParticipantsCompletionBlock: (((any Error)?) -> Void)? { get set }
}

/// The deprecated blocks, reachable without a warning.
private protocol LegacyFetchShareMetadata: AnyObject {
    var perShareMetadataBlock: ((URL, CKShare.Metadata?, (any Error)?) -> Void)? { get set }
    var fetchShareMetadataCompletionBlock: (((any Error)?) -> Void)? { get set }
}

/// The deprecated blocks, reachable without a warning.
private protocol LegacyAcceptShares: AnyObject {
    var perShareCompletionBlock: ((CKShare.Metadata, CKShare?, (any Error)?) -> Void)? { get set }
    var acceptSharesCompletionBlock: (((any Error)?) -> Void)? { get set }
}

extension CKFetchShareParticipantsOperation: LegacyFetchShareParticipants {}
extension CKFetchShareMetadataOperation: LegacyFetchShareMetadata {}
extension CKAcceptSharesOperation: LegacyAcceptShares {}

@Suite struct ShareOperationTests {
    private static let good = "https://example.com/share/good"
    private static let bad = "https://example.com/share/bad"
    private static let urls = [good, bad].compactMap { URL(string: $0) }
    private static let notFound = CloudError(.unknownItem, inner: 2003, "Share not found")

    /// A server that knows everyone but `nobody@example.com`, and one share.
    private func makeServer() -> ScriptedServer {
        let server = ScriptedServer()
        server.onParticipants = { lookups in
            lookups.enumerated().map { index, lookup in
                lookup == .email("nobody@example.com")
                    ? .failure(CloudError(.invalidArguments, "malformed"))
                    : .success(
                        ClientParticipant(
                            id: "p\(index)",
                            identity: ClientIdentity(lookup: lookup, userName: nil, name: nil, hasAccount: true)))
            }
        }
        server.onMetadata = { request in
            request.urls.map { $0 == Self.good ? .success(ShareSamples.metadata(url: $0)) : .failure(Self.notFound) }
        }
        server.onAccept = { urls in
            urls.map { url in
                url == Self.good
                    ? .success(ShareSamples.record(ShareSamples.sharing(currentUserID: "owner")))
                    : .failure(Self.notFound)
            }
        }
        server.onRequest = { urls in urls.map { $0 == Self.good ? .success(Done()) : .failure(Self.notFound) } }
        return server
    }

    private static func metadatas() -> [CKShare.Metadata] {
        [good, bad].map { url in
            var share = ShareSamples.record(ShareSamples.sharing(currentUserID: nil))
            share.sharing?.url = url
            return ShareSamples.metadata(ShareSamples.metadata(share, url: url))
        }
    }

    /// The arguments of a deprecated completion block: its code, and the errors of items by key.
    private static func told<Key: Hashable>(_ error: (any Error)?, by type: Key.Type) -> String {
        guard let error = error as? CKError else { return "ok" }
        let items = (error.partialErrorsByItemID ?? [:]).map { key, error in
            "\(key.base is Key) \(outcome(error))"
        }
        return "\(error.code) \(items)"
    }

    // MARK: Participants

    @Test("[P-01][A-07] people are fetched with one result each, and the error of one does not fail the operation")
    func participants() async {
        let trace = Trace()
        let infos = CKUserIdentity.LookupInfo.lookupInfos(withEmails: ["bob@example.com", "nobody@example.com"])
        let operation = CKFetchShareParticipantsOperation(userIdentityLookupInfos: infos + infos)
        operation.perShareParticipantResultBlock = { info, result in
            let name = (try? result.get())?.userIdentity.lookupInfo?.emailAddress ?? "nil"
            trace.note("\(info.emailAddress ?? "") \(name) \(outcome(result))")
        }
        operation.fetchShareParticipantsResultBlock = { trace.note(outcome($0)) }
        await run(operation, in: makeServer().container())
        #expect(
            trace.all == [
                "bob@example.com bob@example.com ok", "nobody@example.com nil invalidArguments", "ok",
            ])
    }

    @Test("[O-06][A-06] the old block for participants yields to the new one, the old completion has partial errors")
    func legacyParticipants() async {
        let infos = CKUserIdentity.LookupInfo.lookupInfos(withEmails: ["bob@example.com", "nobody@example.com"])
        for hasNewBlock in [false, true] {
            let trace = Trace()
            let operation = CKFetchShareParticipantsOperation(userIdentityLookupInfos: infos)
            let legacy: any LegacyFetchShareParticipants = operation
            legacy.shareParticipantFetchedBlock = { trace.note("old \($0.participantID)") }
            legacy.fetchShareParticipantsCompletionBlock = {
                trace.note(Self.told($0, by: CKUserIdentity.LookupInfo.self))
            }
            if hasNewBlock { operation.perShareParticipantResultBlock = { _, result in trace.note(outcome(result)) } }
            await run(operation, in: makeServer().container())
            let items = hasNewBlock ? ["ok", "invalidArguments"] : ["old p0"]
            #expect(trace.all == items + [#"partialFailure ["true invalidArguments"]"#])
        }
    }

    @Test("[P-01] the container fetches participants by address, number, record and look-up, async and not")
    func containerParticipants() async throws {
        let container = makeServer().container()
        let user = CKRecord.ID(recordName: "_bob")
        #expect(try await container.shareParticipant(forEmailAddress: "b@example.com").participantID == "p0")
        #expect(
            try await container.shareParticipant(forPhoneNumber: "123").userIdentity.lookupInfo?.phoneNumber == "123")
        #expect(
            try await container.shareParticipant(forUserRecordID: user).userIdentity.lookupInfo?.userRecordID == user)
        await #expect(throws: CKError.self) {
            try await container.shareParticipant(forEmailAddress: "nobody@example.com")
        }
        let byMail = try await container.shareParticipants(
            forEmailAddresses: ["b@example.com", "nobody@example.com", "b@example.com"])
        #expect(byMail.mapValues { outcome($0) } == ["b@example.com": "ok", "nobody@example.com": "invalidArguments"])
        #expect(try await container.shareParticipants(forPhoneNumbers: ["1", "2"]).count == 2)
        #expect(try await container.shareParticipants(forUserRecordIDs: [user]).keys.first == user)
        let infos = [CKUserIdentity.LookupInfo(phoneNumber: "1"), CKUserIdentity.LookupInfo(emailAddress: "a@b.c")]
        #expect(Set(try await container.shareParticipants(for: infos).keys) == Set(infos))

        func one(_ call: (@escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void) -> Void) async -> String {
            await withCheckedContinuation { continuation in
                call { continuation.resume(returning: "\($0?.participantID ?? "nil") \(outcome($1))") }
            }
        }
        func many<Key: Hashable & Sendable>(
            _ call: (
                @escaping @Sendable (Result<[Key: Result<CKShare.Participant, any Error>], any Error>) -> Void
            ) -> Void
        ) async -> Int {
            await withCheckedContinuation { continuation in
                call { continuation.resume(returning: (try? $0.get().count) ?? -1) }
            }
        }
        #expect(
            await one { container.fetchShareParticipant(withEmailAddress: "b@example.com", completionHandler: $0) }
                == "p0 ok")
        #expect(await one { container.fetchShareParticipant(withPhoneNumber: "1", completionHandler: $0) } == "p0 ok")
        #expect(
            await one { container.fetchShareParticipant(withUserRecordID: user, completionHandler: $0) } == "p0 ok")
        #expect(
            await many { container.fetchShareParticipants(forEmailAddresses: ["a@b.c"], completionHandler: $0) } == 1)
        #expect(
            await many { container.fetchShareParticipants(forPhoneNumbers: ["1", "2"], completionHandler: $0) } == 2)
        #expect(await many { container.fetchShareParticipants(forUserRecordIDs: [user], completionHandler: $0) } == 1)
    }

    // MARK: Metadata

    @Test("[M-02][A-06][A-07][O-06] metadata are returned URL by URL, with roots where requested")
    func metadata() async {
        let server = makeServer()
        let asked = Gathered<ShareMetadataRequest?>(nil)
        let answer = server.onMetadata
        server.onMetadata = { request in
            asked.value = request
            return try answer(request)
        }
        for hasNewBlock in [false, true] {
            let trace = Trace()
            let operation = CKFetchShareMetadataOperation(shareURLs: Self.urls + Self.urls)
            operation.shouldFetchRootRecord = hasNewBlock
            operation.rootRecordDesiredKeys = hasNewBlock ? ["title"] : nil
            if hasNewBlock {
                operation.perShareMetadataResultBlock = { url, result in
                    trace.note("\(url.lastPathComponent) \(outcome(result))")
                }
            }
            operation.fetchShareMetadataResultBlock = { trace.note(outcome($0)) }
            let legacy: any LegacyFetchShareMetadata = operation
            legacy.perShareMetadataBlock = { url, metadata, error in
                trace.note("\(url.lastPathComponent) \(metadata?.containerIdentifier ?? "nil") \(outcome(error))")
            }
            legacy.fetchShareMetadataCompletionBlock = { trace.note(Self.told($0, by: URL.self)) }
            await run(operation, in: server.container())
            let items =
                hasNewBlock
                ? ["good ok", "bad unknownItem"] : ["good iCloud.com.example.app ok", "bad nil unknownItem"]
            #expect(trace.all == items + ["ok", #"partialFailure ["true unknownItem"]"#])
            #expect(asked.value?.wantsRootRecord == hasNewBlock)
            #expect(asked.value?.urls == [Self.good, Self.bad])
            #expect(asked.value?.rootDesiredKeys == (hasNewBlock ? ["title"] : nil))
        }
    }

    @Test("[M-05] the container fetches metadata of one URL and of many, async and not")
    func containerMetadata() async throws {
        let container = makeServer().container()
        #expect(try await container.shareMetadata(for: Self.urls[0]).participantStatus == .pending)
        let error = await #expect(throws: CKError.self) { try await container.shareMetadata(for: Self.urls[1]) }
        #expect(error?.code == .unknownItem)
        #expect(error?.localizedDescription == "Share not found")
        let many = try await container.shareMetadatas(for: Self.urls)
        #expect(Self.urls.map { many[$0].map { outcome($0) } } == ["ok", "unknownItem"])
        let one: String = await withCheckedContinuation { continuation in
            container.fetchShareMetadata(with: Self.urls[1]) {
                continuation.resume(returning: "\($0 == nil) \(outcome($1))")
            }
        }
        #expect(one == "true unknownItem")
        let count: Int = await withCheckedContinuation { continuation in
            container.fetchShareMetadatas(for: Self.urls) {
                continuation.resume(returning: (try? $0.get().count) ?? -1)
            }
        }
        #expect(count == 2)
    }

    // MARK: Accepting and asking

    @Test("[A-06][A-07][M-06][O-06] shares are accepted one by one, and partial errors are listed under their URLs")
    func accepting() async {
        for hasNewBlock in [false, true] {
            let trace = Trace()
            let operation = CKAcceptSharesOperation(shareMetadatas: Self.metadatas() + Self.metadatas())
            if hasNewBlock {
                operation.perShareResultBlock = { metadata, result in
                    trace.note("\(metadata.share.url?.lastPathComponent ?? "nil") \(outcome(result))")
                }
            }
            operation.acceptSharesResultBlock = { trace.note(outcome($0)) }
            let legacy: any LegacyAcceptShares = operation
            legacy.perShareCompletionBlock = { metadata, share, error in
                trace.note("\(metadata.share.url?.lastPathComponent ?? "nil") \(share != nil) \(outcome(error))")
            }
            legacy.acceptSharesCompletionBlock = { error in
                let item = (error as? CKError)?.partialErrorsByItemID?[Self.urls[1]]
                trace.note("\(Self.told(error, by: URL.self)) \(outcome(item))")
            }
            await run(operation, in: makeServer().container())
            let items = hasNewBlock ? ["good ok", "bad unknownItem"] : ["good true ok", "bad false unknownItem"]
            #expect(trace.all == items + ["ok", #"partialFailure ["true unknownItem"] unknownItem"#])
        }
    }

    @Test("[M-06] the container accepts one share and many, async and not")
    func containerAccepting() async throws {
        let container = makeServer().container()
        let metadatas = Self.metadatas()
        #expect(try await container.accept(metadatas[0]).currentUserParticipant != nil)
        await #expect(throws: CKError.self) { try await container.accept(metadatas[1]) }
        let many = try await container.accept(metadatas)
        #expect(metadatas.map { many[$0].map { outcome($0) } } == ["ok", "unknownItem"])
        let one: String = await withCheckedContinuation { continuation in
            container.accept(metadatas[0]) { (share: CKShare?, error: (any Error)?) in
                continuation.resume(returning: "\(share != nil) \(outcome(error))")
            }
        }
        #expect(one == "true ok")
        let count: Int = await withCheckedContinuation { continuation in
            container.accept(metadatas) { continuation.resume(returning: (try? $0.get().count) ?? -1) }
        }
        #expect(count == 2)
    }

    @Test("[P-22] access is requested URL by URL, and success means no more than that")
    func asking() async throws {
        let trace = Trace()
        let operation = CKShareRequestAccessOperation(shareURLs: Self.urls)
        operation.perShareAccessRequestResultBlock = { trace.note("\($0.lastPathComponent) \(outcome($1))") }
        operation.shareAccessRequestResultBlock = { trace.note(outcome($0)) }
        let container = makeServer().container()
        await run(operation, in: container)
        #expect(trace.all == ["good ok", "bad unknownItem", "ok"])
        let answers = try await container.requestShareAccess(for: Self.urls)
        #expect(Self.urls.map { answers[$0].map { outcome($0) } } == ["ok", "unknownItem"])
    }

    @Test("[O-15] operations without items succeed at once, without a request")
    func empty() async throws {
        let server = makeServer()
        let container = server.container()
        let trace = Trace()
        let participants = CKFetchShareParticipantsOperation()
        participants.fetchShareParticipantsResultBlock = { trace.note("1 \(outcome($0))") }
        let metadata = CKFetchShareMetadataOperation(shareURLs: [])
        metadata.fetchShareMetadataResultBlock = { trace.note("2 \(outcome($0))") }
        let accepting = CKAcceptSharesOperation()
        accepting.acceptSharesResultBlock = { trace.note("3 \(outcome($0))") }
        let asking = CKShareRequestAccessOperation()
        asking.shareAccessRequestResultBlock = { trace.note("4 \(outcome($0))") }
        for operation in [participants, metadata, accepting, asking] { await run(operation, in: container) }
        #expect(trace.all == ["1 ok", "2 ok", "3 ok", "4 ok"])
        #expect(try await container.shareParticipants(forEmailAddresses: []).isEmpty)
        #expect(try await container.requestShareAccess(for: []).isEmpty)
        #expect(server.requestCount == 0)
    }

    @Test("[A-07] a request that fails as a whole fails the operation, and calls no block for an item")
    func wholeFailure() async throws {
        let container = ScriptedServer().container()
        let trace = Trace()
        let participants = CKFetchShareParticipantsOperation(
            userIdentityLookupInfos: [CKUserIdentity.LookupInfo(phoneNumber: "1")])
        participants.perShareParticipantResultBlock = { _, _ in trace.note("item") }
        participants.fetchShareParticipantsResultBlock = { trace.note(outcome($0)) }
        let legacy: any LegacyFetchShareParticipants = participants
        legacy.fetchShareParticipantsCompletionBlock = { trace.note("old \(outcome($0))") }
        let metadata = CKFetchShareMetadataOperation(shareURLs: Self.urls)
        metadata.perShareMetadataResultBlock = { _, _ in trace.note("item") }
        metadata.fetchShareMetadataResultBlock = { trace.note(outcome($0)) }
        let accepting = CKAcceptSharesOperation(shareMetadatas: Self.metadatas())
        accepting.perShareResultBlock = { _, _ in trace.note("item") }
        accepting.acceptSharesResultBlock = { trace.note(outcome($0)) }
        let asking = CKShareRequestAccessOperation(shareURLs: Self.urls)
        asking.perShareAccessRequestResultBlock = { _, _ in trace.note("item") }
        asking.shareAccessRequestResultBlock = { trace.note(outcome($0)) }
        for operation in [participants, metadata, accepting, asking] { await run(operation, in: container) }
        #expect(
            trace.all == ["networkUnavailable", "old networkUnavailable"]
                + Array(repeating: "networkUnavailable", count: 3))
        await #expect(throws: CKError.self) { try await container.shareMetadatas(for: Self.urls) }
    }

    @Test("[X-23] records of metadata and accepted shares belong to the share's place, for the user who fetched them")
    func origins() async throws {
        let server = makeServer()
        server.onAccept = { _ in
            [.success(ShareSamples.record(ShareSamples.sharing(), owner: "_olga"))]
        }
        let container = server.container(AccountID("bob"))
        let share = try await container.accept(Self.metadatas()[0])
        let shared = RecordOrigin(container: ShareSamples.container, database: .shared, account: AccountID("bob"))
        #expect(share.parts.origin == shared)
        let metadata = try await container.shareMetadata(for: Self.urls[0])
        #expect(metadata.share.parts.origin?.database == .private)
    }
}
