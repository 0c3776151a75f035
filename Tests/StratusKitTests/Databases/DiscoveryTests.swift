// Looking for people, asking for permissions, and other deprecated calls that are still used.

import Foundation
import StratusCloud
import StratusKit
import StratusModel
import StratusStore
import StratusTestSupport
import Testing

/// Deprecated calls without warnings: through a requirement that is not deprecated.
private protocol DeprecatedCalls {
    func people(_ container: CKContainer, bob: CKRecord.ID) async throws -> [String]
    func handled(_ container: CKContainer, bob: CKRecord.ID) async -> [String]
    func operations(_ container: CKContainer, _ trace: Trace) async
    func permission(_ container: CKContainer) async -> [String]
    func properties(_ operation: CKOperation, _ container: CKContainer) -> [String]
}

private struct Deprecated: DeprecatedCalls {
    @available(*, deprecated)
    func people(_ container: CKContainer, bob: CKRecord.ID) async throws -> [String] {
        let many = try await container.userIdentities(forEmailAddresses: ["bob@example.com", "nobody@example.com"])
        let byPhone = try await container.userIdentities(forPhoneNumbers: ["+4912345678"])
        let byRecord = try await container.userIdentities(forUserRecordIDs: [bob])
        return [
            try await container.userIdentity(forEmailAddress: "bob@example.com")?.nameComponents?.givenName ?? "nil",
            try await container.userIdentity(forPhoneNumber: "+4912345678")?.userRecordID == bob ? "bob" : "nil",
            try await container.userIdentity(forUserRecordID: bob)?.hasiCloudAccount == true ? "account" : "none",
            try await container.userIdentity(forEmailAddress: "nobody@example.com") == nil ? "nil" : "somebody",
            "\(many.keys.sorted()) \(many["bob@example.com"]?.lookupInfo?.emailAddress ?? "nil")",
            "\(byPhone.count) \(byRecord[bob]?.userRecordID == bob)",
            "\(try await container.userIdentities(forEmailAddresses: []).count)",
            "\(try await container.allUserIdentitiesFromContacts().count)",
        ]
    }

    @available(*, deprecated)
    func handled(_ container: CKContainer, bob: CKRecord.ID) async -> [String] {
        func one(_ call: (@escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void) -> Void) async -> String {
            await withCheckedContinuation { continuation in
                call { continuation.resume(returning: "\($0?.userRecordID == bob) \(outcome($1))") }
            }
        }
        func many<Key: Hashable & Sendable>(
            _ call: (@escaping @Sendable (Result<[Key: CKUserIdentity], any Error>) -> Void) -> Void
        ) async -> String {
            await withCheckedContinuation { continuation in
                call { continuation.resume(returning: "\((try? $0.get().count) ?? -1)") }
            }
        }
        return [
            await one { container.discoverUserIdentity(withEmailAddress: "bob@example.com", completionHandler: $0) },
            await one { container.discoverUserIdentity(withPhoneNumber: "+4912345678", completionHandler: $0) },
            await one { container.discoverUserIdentity(withUserRecordID: bob, completionHandler: $0) },
            await one { container.discoverUserIdentity(withEmailAddress: "x@example.com", completionHandler: $0) },
            await many {
                container.discoverUserIdentities(forEmailAddresses: ["bob@example.com"], completionHandler: $0)
            },
            await many { container.discoverUserIdentities(forPhoneNumbers: ["+4912345678"], completionHandler: $0) },
            await many { container.discoverUserIdentities(forUserRecordIDs: [bob], completionHandler: $0) },
            await withCheckedContinuation { continuation in
                container.discoverAllIdentities { continuation.resume(returning: "\($0?.count ?? -1) \(outcome($1))") }
            },
        ]
    }

    @available(*, deprecated)
    func operations(_ container: CKContainer, _ trace: Trace) async {
        let infos = CKUserIdentity.LookupInfo.lookupInfos(withEmails: ["bob@example.com", "nobody@example.com"])
        let discover = CKDiscoverUserIdentitiesOperation(userIdentityLookupInfos: infos)
        discover.userIdentityDiscoveredBlock = { identity, info in
            trace.note("\(identity.nameComponents?.givenName ?? "nil") \(info.emailAddress ?? "nil")")
        }
        discover.discoverUserIdentitiesResultBlock = { trace.note(outcome($0)) }
        discover.discoverUserIdentitiesCompletionBlock = { trace.note("old \(outcome($0))") }
        let all = CKDiscoverAllUserIdentitiesOperation()
        all.userIdentityDiscoveredBlock = { _ in trace.note("somebody") }
        all.discoverAllUserIdentitiesResultBlock = { trace.note("all \(outcome($0))") }
        for operation in [discover, all] {
            await withCheckedContinuation { continuation in
                operation.completionBlock = { continuation.resume() }
                container.add(operation)
            }
        }
    }

    @available(*, deprecated)
    func permission(_ container: CKContainer) async -> [String] {
        let asked: String = await withCheckedContinuation { continuation in
            container.requestApplicationPermission(.userDiscoverability) { status, error in
                continuation.resume(returning: "\(status) \(outcome(error))")
            }
        }
        let told: String = await withCheckedContinuation { continuation in
            container.status(forApplicationPermission: .userDiscoverability) { status, _ in
                continuation.resume(returning: "\(status)")
            }
        }
        let awaited = try? await container.applicationPermissionStatus(for: .userDiscoverability)
        let again = try? await container.requestApplicationPermission(.userDiscoverability)
        return [asked, told, awaited.map { "\($0)" } ?? "none", again.map { "\($0)" } ?? "none"]
    }

    @available(*, deprecated)
    func properties(_ operation: CKOperation, _ container: CKContainer) -> [String] {
        operation.container = container
        operation.allowsCellularAccess = false
        operation.isLongLived = true
        operation.timeoutIntervalForRequest = 3
        operation.timeoutIntervalForResource = 4
        let configuration: CKOperation.Configuration = operation.configuration
        return [
            "\(configuration.container === container) \(operation.container === container)",
            "\(configuration.allowsCellularAccess) \(operation.allowsCellularAccess)",
            "\(configuration.isLongLived) \(operation.isLongLived)",
            "\(configuration.timeoutIntervalForRequest) \(operation.timeoutIntervalForRequest)",
            "\(configuration.timeoutIntervalForResource) \(operation.timeoutIntervalForResource)",
        ]
    }
}

@Suite struct DiscoveryTests {
    private let deprecated: any DeprecatedCalls = Deprecated()

    /// A bench with a second person.
    private func makeBench() throws -> (OperationBench, bob: CKRecord.ID) {
        let bench = try OperationBench()
        let bob = try bench.service.createAccount(
            AccountDraft(
                externalID: "bob", handles: [.email("bob@example.com"), .phone("+4912345678")],
                name: PersonName(given: "Bob")))
        return (bench, CKRecord.ID(recordName: bob.userName.text))
    }

    @Test("people are found by address, number and record; a person who is not found is nil")
    func people() async throws {
        let (bench, bob) = try makeBench()
        #expect(
            try await deprecated.people(bench.container, bob: bob) == [
                "Bob", "bob", "account", "nil", #"["bob@example.com"] bob@example.com"#, "1 true", "0", "0",
            ])
        #expect(
            await deprecated.handled(bench.container, bob: bob) == [
                "true ok", "true ok", "true ok", "false ok", "1", "1", "1", "0 ok",
            ])
    }

    @Test("[O-15] discovery operations report the people they find; without anyone to look for they succeed at once")
    func operations() async throws {
        let (bench, _) = try makeBench()
        let trace = Trace()
        await deprecated.operations(bench.container, trace)
        #expect(trace.all == ["Bob bob@example.com", "ok", "old ok", "all ok"])
        #expect(bench.interference.sent == [.discoverUsers])
    }

    @Test(
        "users are discoverable as the host has set it, without being asked; without an account the status is unknown")
    func permission() async throws {
        let (bench, _) = try makeBench()
        #expect(await deprecated.permission(bench.container) == ["granted ok", "granted", "granted", "granted"])
        _ = try bench.service.changeAccount(bench.account.id) { $0.isDiscoverable = false }
        #expect(await deprecated.permission(bench.container) == ["denied ok", "denied", "denied", "denied"])
        _ = try bench.service.changeAccount(bench.account.id) { $0.isDiscoverable = true }
        #expect(await deprecated.permission(bench.container).first == "granted ok")
        bench.session.signIn(nil)
        #expect(
            await deprecated.permission(bench.container) == [
                "couldNotComplete notAuthenticated", "couldNotComplete", "none", "none",
            ])
    }

    @Test("the deprecated properties of an operation are those of its configuration")
    func properties() throws {
        let bench = try OperationBench()
        #expect(
            deprecated.properties(CKFetchRecordsOperation(), bench.container) == [
                "true true", "false false", "true true", "3.0 3.0", "4.0 4.0",
            ])
    }
}
