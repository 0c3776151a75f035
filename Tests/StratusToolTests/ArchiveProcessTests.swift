// Archives across processes, and in programs that link the library statically.

import Foundation
import Testing

@Suite("archives and processes")
struct ArchiveProcessTests {
    let directory: TestDirectory

    init() throws { directory = try TestDirectory() }

    @Test("[X-29] equal objects give equal bytes in every process")
    func equalBytes() async throws {
        let run = try await ToolRun.shell(
            """
            CHILD=$(dirname "$TOOL")/stratus-test-program
            for i in 1 2 3; do "$CHILD" archive "na\u{EF}ve" | sha256sum; done | sort -u | wc -l
            "$CHILD" archive name | wc -l
            "$CHILD" archive name | sort -u | wc -l
            """, in: directory)
        #expect(run.lines == ["1", "3", "3"], "\(run.output) \(run.errors)")
    }

    /// A program that decodes an archive of Apple's systems as its first use of the library.
    private static let program = """
        import Foundation
        import StratusKit
        let data = FileManager.default.contents(atPath: CommandLine.arguments[1]) ?? Data()
        let person = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKShare.Participant.self, from: data)
        print(person?.userIdentity.userRecordID?.recordName ?? "nobody")
        """

    @Test("[X-29] a program that links a static library decodes archives of Apple's systems")
    func staticLibrary() async throws {
        try Data(Self.program.utf8).write(to: URL(fileURLWithPath: "\(directory.path)/main.swift"))
        let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().path
        let run = try await ToolRun.shell(
            """
            PRODUCTS=$(dirname "$TOOL"); PACKAGE=\(package); set -e
            # A thin archive names the object files; a linker takes from it what it takes from any other.
            for target in Stratus{Kit,Cloud,Records,Layout,LevelDB,Postgres,Store,Model} \\
                C{LogSync,StratusSystem} Logging CoreMetrics Metrics Crypto CryptoBoringWrapper \\
                CCryptoBoringSSL CCryptoBoringSSLShims
            do
                # The sources that a target has now: a build folder may hold objects of earlier ones.
                if [ -f "$PRODUCTS/$target.build/sources" ]
                then tr -d "'" <"$PRODUCTS/$target.build/sources" | sed "s|.*/|$PRODUCTS/$target.build/|; s|$|.o|"
                else find "$PRODUCTS/$target.build" -name '*.o'; fi
            done | xargs ar qcsST libStratus.a
            ar sT libStratus.a
            MAPS=$(for map in "$PRODUCTS"/C{LogSync,StratusSystem}.build "$PACKAGE/Sources/CLevelDB"
                do echo "-Xcc -fmodule-map-file=$map/module.modulemap"; done)
            swiftc -Onone -I "$PRODUCTS/Modules" $MAPS main.swift libStratus.a -lleveldb -lstdc++ -o program
            ./program "$PACKAGE/Tests/StratusKitTests/Archiving/Apple/participant.plist"
            """, in: directory)
        #expect(run.lines == ["_4c802e75d7aaa04fbb2f59b238ee547c"], "\(run.output) \(run.errors)")
    }
}
