// Starts the test runner. SwiftPM takes a file of this name in place of one that it generates, and then needs no index
// of all tests, which takes a fifth of the compiler's time. The price: commands have to name Swift Testing.

import Foundation
import Testing

@main
enum TestMain {
    static func main() async {
        guard CommandLine.arguments.contains("swift-testing") else {
            FileHandle.standardError.write(
                Data("No test uses XCTest: run 'make test', or add --enable-swift-testing --disable-xctest.\n".utf8))
            exit(64)
        }
        await Testing.__swiftPMEntryPoint() as Never
    }
}
