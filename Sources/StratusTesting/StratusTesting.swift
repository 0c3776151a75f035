// For the tests of programs that use CloudKit: a trait that gives each test its own store.

import Foundation
@_exported public import StratusKit
public import Testing

/// Gives each test its own store, in memory, with one account signed in: `CKContainer.default()` and
/// `CKContainer(identifier:)` mean that store while the test runs.
///
/// ```swift
/// @Suite(.stratus) struct NotesTests {
///     @Test func aNoteIsSaved() async throws {
///         try await NotesLibrary(container: .default()).setUp()
///         …
///     }
/// }
/// ```
///
/// Tests run in parallel and do not see each other's data. `try Stratus.current` is the test's store, to plan faults or
/// to sign in other accounts. The store is closed after the test, which ends everything the test left running.
public struct StratusTrait: TestTrait, SuiteTrait, TestScoping {
    /// True: nested suites get the trait too.
    public let isRecursive = true
    private let signedInAs: Stratus.NewAccount?
    private let options: @Sendable () -> Stratus.Options

    init(signedInAs: Stratus.NewAccount?, options: @escaping @Sendable () -> Stratus.Options) {
        self.signedInAs = signedInAs
        self.options = options
    }

    /// Returns a scope for each test, and none for a suite, whose tests would share it.
    public func scopeProvider(for test: Test, testCase: Test.Case?) -> StratusTrait? {
        testCase == nil ? nil : self
    }

    /// Creates the store, runs the test with it, and closes it.
    ///
    /// - Throws: `StratusError` if the store or its account cannot be created, and what the test throws.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let store = try await Stratus.inMemory(options: options())
        if let signedInAs {
            let account = try await store.createAccount(signedInAs, externalID: StratusTrait.externalID)
            try await store.signIn(account)
        }
        do {
            try await store.asCurrent { try await function() }
        } catch {
            await store.close()
            throw error
        }
        await store.close()
    }

    /// The host's identifier of the signed-in account.
    public static let externalID = "test"
}

extension Trait where Self == StratusTrait {
    /// A separate store for each test, with one account signed in.
    public static var stratus: StratusTrait { stratus() }

    /// A separate store for each test.
    ///
    /// - Parameters:
    ///   - account: The account to sign in; nil for none.
    ///   - options: Creates the store's options, once for each test.
    /// - Returns: The trait.
    public static func stratus(
        signedInAs account: Stratus.NewAccount? = Stratus.NewAccount(emails: ["test@example.com"]),
        options: @escaping @Sendable () -> Stratus.Options = { Stratus.Options() }
    ) -> StratusTrait {
        StratusTrait(signedInAs: account, options: options)
    }
}
