// Begins the tests. Where a package has this file, its builds do not look through an index of the code for tests of XCTest,
// of which there are none here, and need not make one (see the Makefile).

import Testing

@main
struct TestMain {
    static func main() async { await Testing.__swiftPMEntryPoint() as Never }
}
