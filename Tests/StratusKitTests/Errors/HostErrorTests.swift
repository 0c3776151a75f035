// Errors of the host API, caught as NSErrors: on Linux a cast that fails although the compiler expects success ends the
// process, so each is cast in every way.

import Foundation
import StratusKit
import Testing

@Suite("errors of the host API")
struct HostErrorTests {
    private static func thrown(_ body: () throws -> Void) -> any Error {
        do {
            try body()
            return CancellationError()
        } catch { return error }
    }

    /// One of each public type of error that is not CloudKit's.
    private static func errors() throws -> [any Error] {
        let store = try Stratus.inMemory()
        defer { store.close() }
        return [
            thrown { try store.backup(to: FileManager.default.temporaryDirectory.appending(path: "none")) },
            thrown { _ = try StratusArchive.decode(CKRecord.self, from: Data("none".utf8)) },
        ]
    }

    private func caught(_ error: any Error) -> NSError? {
        do {
            throw error
        } catch let error as NSError where !error.domain.isEmpty {
            return error
        } catch { return nil }
    }

    @Test("each casts to an NSError with its own domain and a message, and back")
    func casts() throws {
        let errors = try Self.errors()
        #expect(errors.first is StratusError)
        #expect(errors.last is StratusArchiveError)
        for (error, domain) in zip(errors, ["StratusErrorDomain", "StratusArchiveErrorDomain"]) {
            let object = try #require(caught(error))
            #expect(object.domain == domain)
            #expect(object.code == 1)
            #expect(object.localizedDescription == "\(error)")
            #expect(((error as Any) as? NSError)?.domain == domain)
            #expect((error as NSError).domain == domain)
            #expect((error as Any) is NSObject)
            let outcome: Result<Int, any Error> = .failure(error)
            if case .failure(let object as NSError) = outcome {
                #expect(object.domain == domain)
            } else {
                Issue.record("no NSError")
            }
            let outer = NSError(domain: "outer", code: 1, userInfo: [NSUnderlyingErrorKey: error])
            #expect((outer.userInfo[NSUnderlyingErrorKey] as? NSError)?.domain == domain)
        }
        let back = try #require(caught(errors[0])) as any Error
        #expect((back as? StratusError)?.code == .invalidArgument)
        #expect(!(back is StratusArchiveError))
        #expect(!(back is CKError))
        let archive = try #require(caught(errors[1])) as any Error
        #expect((archive as? StratusArchiveError)?.code == .notAnArchive)
        #expect(!(archive is StratusError))
        #expect(!(NSError(domain: "StratusErrorDomain", code: 1) as any Error is StratusError))
    }
}
