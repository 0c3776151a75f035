// Suites that hold wherever the contents of assets are run in both places, by one trait.

import StratusCloud
import StratusStore
import StratusTestSupport
import Testing

/// Where the contents of a test's assets are.
enum ContentPlace: CaseIterable {
    case files
    case store

    @TaskLocal static var current = ContentPlace.files

    /// The store that a fixture opens. It has its own place for contents if the test is to run there.
    static func store(over store: any OrderedStore, _ clock: any CloudClock) -> any OrderedStore {
        guard current == .store, store.contents == nil else { return store }
        return ContentsStore(store, MemoryContents { UInt64(clock.uptimeSeconds * 1_000) })
    }
}

/// Runs each test with the contents of assets as files, and again with contents in the store. A test of what only files
/// have gets a store without contents, also where another one is chosen for all suites.
struct BothPlaces: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        if test.traits.contains(where: { $0 is OnlyFiles }) {
            return try await TestStores.$chosen.withValue(nil) { try await function() }
        }
        for place in TestStores.chosen == .postgres ? [ContentPlace.store] : ContentPlace.allCases {
            try await ContentPlace.$current.withValue(place) { try await function() }
        }
    }
}

/// A test of what only files have, in a suite that runs in both places.
struct OnlyFiles: TestTrait {}

extension Trait where Self == BothPlaces {
    static var inBothPlaces: Self { Self() }
}

extension Trait where Self == OnlyFiles {
    static var onlyFiles: Self { Self() }
}
