// The operations and calls that save, delete and fetch subscriptions, with a server that answers as the test says.

import Foundation
import StratusCloud
import StratusModel
import StratusStore
import Testing

@testable import StratusKit

@Suite struct SubscriptionOperationTests {
    /// A server that stores subscriptions, and refuses those whose name begins with "bad".
    private func makeServer() -> (server: ScriptedServer, asked: Locked<[ModifySubscriptionsRequest]>) {
        let server = ScriptedServer()
        let stored = Locked<[String: ClientSubscription]>([:])
        let asked = Locked<[ModifySubscriptionsRequest]>([])
        let unknown = CloudError(.unknownItem, "There is no such subscription.")
        server.onModifySubscriptions = { request, _ in
            asked.withLock { $0.append(request) }
            return ModifySubscriptionsResponse(
                saves: request.saves.map { subscription in
                    if subscription.id.hasPrefix("bad") { return .failure(CloudError(.invalidArguments, "Bad.")) }
                    stored.withLock { $0[subscription.id] = subscription }
                    return .success(subscription)
                },
                deletes: request.deletes.map { id in
                    stored.withLock { $0.removeValue(forKey: id) } == nil ? .failure(unknown) : .success(Done())
                })
        }
        server.onFetchSubscriptions = { request, _ in
            switch request {
            case .all: stored.value.sorted { $0.key < $1.key }.map { ($0.key, .success($0.value)) }
            case .named(let ids):
                ids.map { id in (id, stored.value[id].map { .success($0) } ?? .failure(unknown)) }
            }
        }
        return (server, asked)
    }

    private func modify(
        _ saves: [CKSubscription], _ deletions: [String] = [], in container: CKContainer
    ) async -> [String] {
        let operation = CKModifySubscriptionsOperation(subscriptionsToSave: saves, subscriptionIDsToDelete: deletions)
        let trace = Trace()
        operation.perSubscriptionSaveBlock = { trace.note("save \($0) \(outcome($1))") }
        operation.perSubscriptionDeleteBlock = { trace.note("delete \($0) \(outcome($1))") }
        operation.modifySubscriptionsResultBlock = { trace.note("result \(outcome($0))") }
        (operation as any LegacyModifySubscriptions).modifySubscriptionsCompletionBlock = { saved, deleted, error in
            trace.note("old \(saved?.map(\.subscriptionID) ?? []) \(deleted ?? []) \(outcome(error))")
            let errors = (error as? CKError)?.partialErrorsByItemID ?? [:]
            trace.note("errors \(errors.keys.compactMap { $0.base as? String }.sorted())")
        }
        await run(operation, in: container)
        return trace.all
    }

    @Test("[N-07][A-06][A-07] every item is reported, then the result; old blocks get partialFailure by identifier")
    func modifying() async {
        let (server, asked) = makeServer()
        let container = server.container()
        let saved = await modify(
            [SubscriptionSamples.zone("a"), SubscriptionSamples.database("bad 1")], ["nothing"], in: container)
        #expect(
            saved == [
                "save a ok", "save bad 1 invalidArguments", "delete nothing unknownItem", "result ok",
                "old [\"a\"] [] partialFailure", "errors [\"bad 1\", \"nothing\"]",
            ])
        let deleted = await modify([], ["a"], in: container)
        #expect(deleted == ["delete a ok", "result ok", "old [] [\"a\"] ok", "errors []"])
        #expect(asked.value.map(\.saves.count) == [2, 0])
        #expect(asked.value.map(\.deletes) == [["nothing"], ["a"]])
    }

    @Test("[N-04][X-25] a mistake fails its subscription with invalidArguments, and the others are sent")
    func mistakes() async {
        let (server, asked) = makeServer()
        let container = server.container()
        let mistaken: [CKSubscription] = [
            SubscriptionSamples.query("options", options: .firesOnce), SubscriptionSamples.query("none", options: []),
            SubscriptionSamples.query("type", type: ""),
            SubscriptionSamples.query("format", NSPredicate(format: "a =")),
            SubscriptionSamples.query("or", NSPredicate(format: "a = 1 OR b = 2")),
            SubscriptionSamples.query("block", NSPredicate { _, _ in true }),
        ]
        let all = await modify(mistaken + [SubscriptionSamples.zone("good")], in: container)
        let refused = mistaken.map { "save \($0.subscriptionID) invalidArguments" }
        #expect(Array(all.prefix(8)) == refused + ["save good ok", "result ok"])
        #expect(asked.value.map { $0.saves.map(\.id) } == [["good"]])
        let alone = await modify(Array(mistaken.prefix(1)), in: container)
        #expect(Array(alone.prefix(2)) == ["save options invalidArguments", "result ok"])
        #expect(asked.value.count == 1)
    }

    @Test("[A-07] a request that fails as a whole calls only the result block")
    func failing() async {
        let server = ScriptedServer()
        let told = await modify([SubscriptionSamples.zone("a")], in: server.container())
        #expect(told == ["result networkUnavailable", "old [] [] networkUnavailable", "errors []"])
        #expect(server.requestCount == 1)
        let nothing = await modify([], in: server.container())
        #expect(nothing == ["result ok", "old [] [] ok", "errors []"])
        #expect(server.requestCount == 1)
    }

    @Test("[N-03] a subscription without notificationInfo is saved and fetched without it")
    func silent() async throws {
        let (server, _) = makeServer()
        let database = server.container().privateCloudDatabase
        let saved = try await database.save(SubscriptionSamples.zone("a"))
        #expect(saved.notificationInfo == nil)
        #expect(saved == SubscriptionSamples.zone("a"))
        #expect(try await database.subscription(for: "a").notificationInfo == nil)
    }

    @Test("[N-07][A-10] named subscriptions are fetched once each, and all of them if no name is given")
    func fetching() async throws {
        let (server, _) = makeServer()
        let container = server.container()
        _ = await modify(SubscriptionSamples.all, in: container)
        let operations = [
            CKFetchSubscriptionsOperation(subscriptionIDs: ["zone", "nothing", "zone"]),
            CKFetchSubscriptionsOperation.fetchAllSubscriptionsOperation(), CKFetchSubscriptionsOperation(),
        ]
        var told: [[String]] = []
        for operation in operations {
            let trace = Trace()
            operation.perSubscriptionResultBlock = { trace.note("\($0) \(outcome($1))") }
            operation.fetchSubscriptionsResultBlock = { trace.note("result \(outcome($0))") }
            (operation as any LegacyFetchSubscriptions).fetchSubscriptionCompletionBlock = {
                trace.note("old \(($0 ?? [:]).keys.sorted()) \(outcome($1))")
            }
            await run(operation, in: container)
            told.append(trace.all)
        }
        #expect(
            told == [
                ["zone ok", "nothing unknownItem", "result ok", "old [\"zone\"] partialFailure"],
                ["database ok", "query ok", "zone ok", "result ok", "old [\"database\", \"query\", \"zone\"] ok"],
                ["result ok", "old [] ok"],
            ])
    }

    @Test("[A-08] the database's calls return items, async and with handlers")
    func calls() async throws {
        let (server, _) = makeServer()
        let database = server.container().privateCloudDatabase
        for subscription in SubscriptionSamples.all { #expect(try await database.save(subscription) == subscription) }
        let query = try #require(try await database.subscription(for: "query") as? CKQuerySubscription)
        #expect(query.predicate == SubscriptionSamples.query().predicate)
        #expect(query.zoneID == SubscriptionSamples.zoneID)
        #expect(try await database.allSubscriptions().map(\.subscriptionID) == ["database", "query", "zone"])
        #expect(try await database.deleteSubscription(withID: "zone") == "zone")
        await #expect(throws: CKError.self) { try await database.subscription(for: "zone") }
        await #expect(throws: CKError.self) { try await database.deleteSubscription(withID: "zone") }
        await #expect(throws: CKError.self) { try await database.save(SubscriptionSamples.query(options: [])) }
        let answers = try await database.modifySubscriptions(
            saving: [SubscriptionSamples.zone("a"), SubscriptionSamples.zone("bad")], deleting: ["query", "x"])
        #expect(answers.saveResults.mapValues { outcome($0) } == ["a": "ok", "bad": "invalidArguments"])
        #expect(answers.deleteResults.mapValues { outcome($0) } == ["query": "ok", "x": "unknownItem"])
        let fetched = try await database.subscriptions(for: ["a", "query"])
        #expect(fetched.mapValues { outcome($0) } == ["a": "ok", "query": "unknownItem"])
    }

    @Test("[A-08] the database's calls with handlers return the same as the async ones")
    func handlers() async {
        let (server, _) = makeServer()
        let database = server.container().privateCloudDatabase
        let trace = Trace()
        await withCheckedContinuation { continuation in
            database.save(SubscriptionSamples.zone("a")) { saved, error in
                trace.note("save \(saved?.subscriptionID ?? "-") \(outcome(error))")
                database.fetch(withSubscriptionID: "b") { fetched, error in
                    trace.note("fetch \(fetched?.subscriptionID ?? "-") \(outcome(error))")
                    database.fetchAllSubscriptions { all, error in
                        trace.note("all \(all?.count ?? -1) \(outcome(error))")
                        database.delete(withSubscriptionID: "a") { id, error in
                            trace.note("delete \(id ?? "-") \(outcome(error))")
                            continuation.resume()
                        }
                    }
                }
            }
        }
        await withCheckedContinuation { continuation in
            database.modifySubscriptions(saving: [SubscriptionSamples.zone("a")], deleting: []) { result in
                trace.note("modify \(((try? result.get())?.saveResults.keys.sorted()) ?? [])")
                database.fetch(withSubscriptionIDs: ["a"]) { result in
                    trace.note("batch \(((try? result.get())?.keys.sorted()) ?? [])")
                    continuation.resume()
                }
            }
        }
        #expect(
            trace.all == [
                "save a ok", "fetch - unknownItem", "all 1 ok", "delete a ok", "modify [\"a\"]", "batch [\"a\"]",
            ])
    }

    @Test("[N-05] requests name the acting device: the local one for the signed-in account, none for a fixed account")
    func devices() async throws {
        let server = ScriptedServer()
        let callers = Locked<[Caller]>([])
        server.onFetchSubscriptions = { _, caller in
            callers.withLock { $0.append(caller) }
            return []
        }
        let session = CloudSession(server: server, clock: HandClock(), account: ShareSamples.account)
        let containers = [
            CKContainer(session: session, identifier: "iCloud.a", account: nil),
            CKContainer(session: session, identifier: "iCloud.a", account: ShareSamples.account),
            CKContainer(session: session, identifier: "iCloud.a", account: ShareSamples.account, device: "phone"),
        ]
        for container in containers { _ = try await container.privateCloudDatabase.allSubscriptions() }
        session.signIn(nil)
        _ = try await containers[0].privateCloudDatabase.allSubscriptions()
        #expect(callers.value.map(\.device) == ["local", nil, "phone", nil])
        #expect(
            callers.value.map(\.account) == [ShareSamples.account, ShareSamples.account, ShareSamples.account, nil])
    }
}
