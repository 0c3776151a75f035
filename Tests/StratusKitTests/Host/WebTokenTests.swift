// Web tokens: fetched by an operation, and passed to the host by a web service.

import Foundation
import StratusKit
import StratusStore
import StratusTestSupport
import Testing

@Suite("Web tokens")
struct WebTokenTests {
    private static let identifier = "iCloud.test"

    private func token(_ apiToken: String?, in container: CKContainer) async throws -> String {
        let operation = CKFetchWebAuthTokenOperation()
        operation.apiToken = apiToken
        return try await withCheckedThrowingContinuation { continuation in
            operation.fetchWebAuthTokenResultBlock = { continuation.resume(with: $0) }
            container.privateCloudDatabase.add(operation)
        }
    }

    @Test("[X-24] a web token identifies its account, for its container and its service, and for no other")
    func bound() async throws {
        let (store, alice) = try Stratus.tested()
        let bob = try await store.createAccount(.init(), externalID: "bob")
        let container = store.container(Self.identifier, signedInAs: alice)
        let shop = try await token("shop", in: container)
        let others = [
            try await token("blog", in: container),
            try await token("shop", in: store.container("iCloud.other", signedInAs: alice)),
            try await token("shop", in: store.container(Self.identifier, signedInAs: bob)),
        ]
        #expect(Set(others + [shop]).count == 4)
        #expect(shop.wholeMatch(of: /[A-Za-z0-9_-]+/) != nil)
        func account(
            _ token: String, _ apiToken: String = "shop", _ container: String = Self.identifier
        ) throws -> String? {
            try store.account(webAuthToken: token, apiToken: apiToken, container: container)?.id
        }
        #expect(try account(shop) == alice.id)
        #expect(try account(others[2]) == bob.id)
        #expect(try account(others[0], "blog") == alice.id)
        #expect(try account(others[1], "shop", "iCloud.other") == alice.id)
        #expect(try account(shop, "blog") == nil)
        #expect(try account(others[0]) == nil)
        #expect(try account(shop, "shop", "iCloud.other") == nil)
        #expect(try account(others[1]) == nil)
        // No changed, truncated or invented token is valid.
        for wrong in ["", "A", "AAAA", String(shop.dropLast()), shop + "A", String(shop.reversed()), "\u{e9}", "%%%%"] {
            #expect(try account(wrong) == nil, "\(wrong)")
        }
        for index in shop.indices {
            var changed = shop
            changed.replaceSubrange(index...index, with: shop[index] == "A" ? "B" : "A")
            // The last characters may have unused bits.
            if shop.distance(from: index, to: shop.endIndex) > 2 { #expect(try account(changed) == nil) }
        }
        let elsewhere = try await Stratus.inMemory(options: .tested { $0.identifiers = .seeded(7) })
        #expect(try await elsewhere.account(webAuthToken: shop, apiToken: "shop", container: Self.identifier) == nil)
    }

    @Test("a web token expires, and is worthless when its account is deleted or suspended")
    func ageing() async throws {
        let clock = Stratus.ManualClock()
        let (store, alice) = try Stratus.tested { $0.clock = .manual(clock) }
        let shop = try await token("shop", in: store.container(Self.identifier, signedInAs: alice))
        func account(_ age: Double) throws -> String? {
            try store.account(
                webAuthToken: shop, apiToken: "shop", container: Self.identifier, notOlderThan: age)?.id
        }
        clock.advance(by: 60)
        #expect(try account(60) == alice.id)
        #expect(try account(59) == nil)
        #expect(
            try await store.account(webAuthToken: shop, apiToken: "shop", container: Self.identifier)?.id == alice.id)
        _ = try await store.setStanding(.restricted, of: alice)
        #expect(try account(60) == nil)
        _ = try await store.setStanding(.good, of: alice)
        #expect(try account(60) == alice.id)
        try await store.deleteAccountWithAllData(alice)
        #expect(try account(60) == nil)
    }

    @Test("an operation without an API token, or without an account, fails")
    func refused() async throws {
        let (store, alice) = try Stratus.tested()
        for apiToken in [nil, ""] {
            let error = await #expect(throws: CKError.self) {
                try await token(apiToken, in: store.container(Self.identifier, signedInAs: alice))
            }
            #expect(error?.code == .invalidArguments)
        }
        let error = await #expect(throws: CKError.self) {
            try await token("shop", in: store.container(Self.identifier))
        }
        #expect(error?.code == .notAuthenticated)
    }
}
