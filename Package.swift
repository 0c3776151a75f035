// swift-tools-version: 6.2
// The package: one target for each floor, which depends only on floors below (see Docs/ARCHITECTURE.md).
// STRATUS_BENCHMARKS=1 adds the benchmark targets and their dependencies. Users of the library never resolve them.

import PackageDescription

/// Gives the C functions of `CStratusSystem`, whose pointers carry their lengths, signatures with spans.
let spans: [SwiftSetting] = [.enableExperimentalFeature("SafeInteropWrappers")]

/// A target that tests share. No product contains it, except the library that tests load into the tool.
func support(
    _ name: String, dependencies: [Target.Dependency] = [], linkerSettings: [LinkerSetting]? = nil
) -> Target {
    .target(name: name, dependencies: dependencies, path: "Tests/Support/\(name)", linkerSettings: linkerSettings)
}

let package = Package(
    name: "stratus",
    products: [
        .library(name: "StratusKit", targets: ["StratusKit"]),
        .library(name: "CloudKit", targets: ["CloudKit"]),
        .library(name: "CoreLocation", targets: ["CoreLocation"]),
        .library(name: "StratusTesting", targets: ["StratusTesting"]),
        .executable(name: "stratus", targets: ["stratus"]),
        // For tests alone, which load it into the tool before all other libraries: so it has to be a product.
        .library(name: "CFileCalls", type: .dynamic, targets: ["CFileCalls"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
    ],
    targets: [
        // Floor 1: words and the seam.
        .systemLibrary(name: "CLevelDB"),
        // LevelDB's log is synced beside the insertion of what was logged.
        .target(name: "CLogSync", linkerSettings: [.linkedLibrary("leveldb")]),
        // What the operating system does and Swift's Foundation does not: its pointers carry their lengths.
        .target(name: "CStratusSystem"),
        .target(name: "StratusModel"),
        .target(name: "StratusStore"),

        // Floor 2: bytes on disk.
        .target(name: "StratusLevelDB", dependencies: ["CLevelDB", "CLogSync", "StratusStore"]),
        // Loads PostgreSQL's client library when it is first needed; nothing links it.
        .target(name: "StratusPostgres", dependencies: ["StratusStore"]),
        .target(name: "StratusLayout", dependencies: ["StratusStore", "StratusModel"]),

        // Floor 3: records, indexes, hierarchy.
        .target(name: "StratusRecords", dependencies: ["StratusStore", "StratusLayout", "StratusModel"]),

        // Floor 4: what the server decides.
        .target(
            name: "StratusCloud",
            dependencies: [
                "StratusRecords", "StratusLayout", "StratusStore", "StratusModel", "CStratusSystem",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: spans),

        // Floor 5: what users touch.
        .target(
            name: "StratusKit",
            dependencies: [
                "StratusCloud", "StratusRecords", "StratusModel", "StratusLevelDB", "StratusPostgres", "StratusStore",
                "CStratusSystem",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
            ],
            swiftSettings: spans),
        .systemLibrary(name: "CloudKitSubmodules"),
        .target(name: "CloudKit", dependencies: ["StratusKit", "CloudKitSubmodules"]),
        .target(name: "CoreLocation", dependencies: ["StratusKit", "CloudKitSubmodules"]),
        .target(name: "StratusTesting", dependencies: ["StratusKit"]),
        .executableTarget(
            name: "stratus",
            dependencies: [
                "StratusKit", "StratusCloud", "StratusRecords", "StratusLayout", "StratusLevelDB", "StratusPostgres",
                "StratusStore", "StratusModel", "CStratusSystem",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: spans),

        // Programs written against CloudKit, in the language mode of today and in the one before (see the end).
        .target(name: "CloudKitExamples", dependencies: ["CloudKit", "CoreLocation"], path: "Examples/Swift6"),
        .target(name: "CloudKitExamplesSwift5", dependencies: ["CloudKit", "CoreLocation"], path: "Examples/Swift5"),
        // The code that the guide's pages show, word for word.
        .target(name: "GuideExamples", dependencies: ["CloudKit", "StratusKit"], path: "Examples/Guide"),

        // For tests: conformance suites, fault injection below the engine and above it, the oracle, generators.
        support(
            "StratusTestSupport",
            dependencies: [
                "StratusModel", "StratusStore", "StratusLevelDB", "StratusPostgres", "StratusLayout", "StratusRecords",
                "CTestProcess", "CLevelDBFaults", .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]),
        // People who share, what they do, and what each of them may see.
        support(
            "StratusSharingSupport",
            dependencies: ["StratusKit", "StratusCloud", "StratusRecords", "StratusStore", "StratusTestSupport"]),
        // The data sets and requests of the benchmarks' workloads, and what counts their costs.
        support(
            "StratusWorkloads",
            dependencies: [
                "StratusKit", "StratusCloud", "StratusRecords", "StratusLayout", "StratusLevelDB", "StratusStore",
                "StratusModel",
            ]),
        support("CTestProcess"),
        support("CCounters"),
        // Ends or fails a process at a call that changes files.
        support("CFileCalls", linkerSettings: [.linkedLibrary("dl")]),
        // Faults below the engine, by LevelDB's C++ environment.
        support("CLevelDBFaults", linkerSettings: [.linkedLibrary("leveldb")]),
        // The child processes of tests, and the fuzzer.
        .executableTarget(
            name: "stratus-test-program",
            dependencies: [
                "StratusTestSupport", "StratusWorkloads", "StratusKit", "StratusCloud", "StratusRecords",
                "StratusLayout", "StratusLevelDB", "StratusPostgres", "StratusStore", "StratusModel", "CCounters",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Tests/Support/stratus-test-program",
            // Allocations have bounds only where the floors below are optimised as the recorded ones were.
            swiftSettings: Context.environment["STRATUS_OPTIMISED_TESTS"] == "1"
                ? [.define("STRATUS_OPTIMISED_TESTS", .when(configuration: .debug))] : []),

        .testTarget(
            name: "StratusLayoutTests",
            dependencies: ["StratusLayout", "StratusStore", "StratusModel", "StratusTestSupport"],
            exclude: ["Golden", "Tuples/Golden"]),
        .testTarget(name: "StratusStoreTests", dependencies: ["StratusStore", "StratusTestSupport"]),
        .testTarget(
            name: "StratusRecordsTests",
            dependencies: [
                "StratusRecords", "StratusLayout", "StratusLevelDB", "StratusStore", "StratusModel",
                "StratusTestSupport",
            ]),
        .testTarget(
            name: "StratusLevelDBTests",
            dependencies: [
                "StratusLevelDB", "StratusRecords", "StratusLayout", "StratusModel", "StratusStore",
                "StratusTestSupport", "stratus-test-program",
            ]),
        // Without a server (scripts/postgres run) one line says what was not tested.
        .testTarget(
            name: "StratusPostgresTests",
            dependencies: [
                "StratusPostgres", "StratusRecords", "StratusStore", "StratusTestSupport", "stratus-test-program",
            ]),
        .testTarget(
            name: "StratusCloudTests",
            dependencies: [
                "StratusCloud", "StratusRecords", "StratusLayout", "StratusLevelDB", "StratusStore", "StratusModel",
                "StratusTestSupport",
            ], exclude: ["Schema/Golden"]),
        .testTarget(
            name: "StratusKitTests",
            dependencies: [
                "StratusKit", "StratusTesting", "StratusTestSupport", "StratusCloud", "StratusRecords", "StratusLayout",
                "StratusLevelDB", "StratusStore", "StratusModel",
                .product(name: "Logging", package: "swift-log"), .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
            ], exclude: ["Archiving/Apple"]),
        .testTarget(
            name: "StratusSharingTests",
            dependencies: [
                "StratusKit", "StratusCloud", "StratusRecords", "StratusStore", "StratusSharingSupport",
                "StratusTestSupport",
            ],
            exclude: ["Authorization"]),
        .testTarget(
            name: "StratusFeedTests",
            dependencies: [
                "StratusKit", "StratusCloud", "StratusStore", "StratusModel", "StratusSharingSupport",
                "StratusTestSupport",
            ]),
        .testTarget(
            name: "StratusExampleTests",
            dependencies: [
                "CloudKitExamples", "CloudKitExamplesSwift5", "GuideExamples", "CloudKit", "CoreLocation",
                "StratusTesting",
            ]),
        .testTarget(
            name: "StratusToolTests",
            dependencies: [
                "stratus", "stratus-test-program", "StratusKit", "StratusCloud", "StratusRecords", "StratusLayout",
                "StratusPostgres", "StratusStore", "StratusModel", "StratusTestSupport",
            ], exclude: ["Frozen"]),
        // Faults below the engine, killed processes, damaged bytes.
        .testTarget(
            name: "StratusFaultTests",
            dependencies: [
                "StratusLevelDB", "StratusRecords", "StratusLayout", "StratusStore", "StratusModel",
                "StratusTestSupport", "stratus-test-program",
            ]),
        .testTarget(
            name: "StratusCostTests",
            dependencies: [
                "StratusWorkloads", "StratusCloud", "StratusRecords", "StratusLevelDB", "StratusPostgres",
                "StratusStore", "StratusModel", "StratusTestSupport", "stratus-test-program",
            ],
            exclude: ["Golden"]),
        .testTarget(name: "TidyTests", dependencies: ["StratusTestSupport"]),
    ],
    cxxLanguageStandard: .cxx17
)

if Context.environment["STRATUS_BENCHMARKS"] == "1" {
    package.dependencies.append(.package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"))
    for library in ["CPostgreSQL", "CLMDB", "CRocksDB"] {
        package.targets.append(.systemLibrary(name: library, path: "Benchmarks/\(library)"))
    }
    package.targets.append(
        .target(name: "CSQLite", path: "Benchmarks/CSQLite", linkerSettings: [.linkedLibrary("sqlite3")]))
    package.targets.append(
        .executableTarget(
            name: "stratus-benchmarks",
            dependencies: [
                "StratusWorkloads", "StratusKit", "StratusCloud", "StratusRecords", "StratusLayout",
                "StratusLevelDB", "StratusPostgres", "StratusStore", "StratusModel", "CLevelDB", "CLogSync",
                "CPostgreSQL", "CSQLite", "CLMDB", "CRocksDB",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Benchmarks", exclude: ["Results", "CPostgreSQL", "CSQLite", "CLMDB", "CRocksDB"]))
}

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .strictMemorySafety(),
    // Decoders that read a `Span` in place are non-escapable values; see Docs/decisions/.
    .enableExperimentalFeature("Lifetimes"),
]

/// The examples are compiled as anybody's programs are, without the settings of this package.
let exampleModes: [String: SwiftLanguageMode] = [
    "CloudKitExamples": .v6, "CloudKitExamplesSwift5": .v5, "GuideExamples": .v6,
]

// STRATUS_OPTIMISED_TESTS=1 optimises what random histories run through in debug builds, and keeps assertions. Only for
// this package by itself: SwiftPM refuses dependencies with such flags.
let optimisedTargets: Set<String> =
    Context.environment["STRATUS_OPTIMISED_TESTS"] == "1"
    ? [
        "StratusModel", "StratusStore", "StratusLayout", "StratusLevelDB", "StratusPostgres", "StratusRecords",
        "StratusCloud", "StratusWorkloads",
        // It reads every file of the repository.
        "TidyTests",
    ] : []

for target in package.targets where target.type != .system {
    if let mode = exampleModes[target.name] {
        target.swiftSettings = [.swiftLanguageMode(mode)]
    } else {
        target.swiftSettings = (target.swiftSettings ?? []) + settings
    }
    if optimisedTargets.contains(target.name) {
        // The largest one compiles in four fifths of the time this way, and its tests take no longer.
        let level = target.name == "StratusCloud" ? "-Osize" : "-O"
        target.swiftSettings?.append(
            .unsafeFlags([level, "-assert-config", "Debug"], .when(configuration: .debug)))
    }
}
