// The substitutes on the page about bringing an app's tests to Linux, used as apps use the originals.

import CloudKit
import GuideExamples
import Observation
import StratusTesting
import Testing

// snippet
@Observable final class Shelf {
    var titles: [String] = []
}
// end

@Suite("Substitutes for Apple's other frameworks")
struct ShimTests {
    private struct Refused: Error {}

    @Test("messages with privacy, levels and signposts compile as on Apple's systems")
    func logging() {
        let logger = GuideExamples.Logger(subsystem: "com.example.app", category: "sync")
        let (name, count) = ("note", 3)
        logger.debug("saved \(name, privacy: .public), \(count) in all")
        logger.log(level: .info, "\(name, privacy: .private)")
        logger.error("nothing")
        let signposter = OSSignposter(subsystem: "com.example.app", category: "sync")
        let state = signposter.beginInterval("fetch", id: signposter.makeSignpostID())
        signposter.endInterval("fetch", state)
        #expect(signposter.withIntervalSignpost("save") { count } == 3)
        let message: OSLogMessage = "saved \(name, privacy: .private) at \(2.5)"
        #expect("\(message)".contains("saved note at 2.5"))
    }

    @Test("defaults store values by key, like the change tokens of apps")
    func defaults() throws {
        let name = "stratus-shim-\(UUID().uuidString)"
        let defaults = try #require(UserDefaults(suiteName: name))
        defer { defaults.removePersistentDomain(forName: name) }
        let token = Data([1, 2, 3])
        defaults.setValue(token, forKey: "token")
        defaults.setValue(true, forKey: "isZoneMade")
        #expect(defaults.data(forKey: "token") == token)
        #expect(defaults.bool(forKey: "isZoneMade"))
        #expect(defaults.value(forKey: "token") as? Data == token)
        defaults.setValue(nil, forKey: "token")
        #expect(defaults.value(forKey: "token") == nil)
    }

    @Test("a pool returns what its body returns, and throws what it throws")
    func pool() {
        #expect(autoreleasepool { 3 } == 3)
        #expect(throws: Refused.self) { try autoreleasepool { throw Refused() } }
    }

    @Test("an observable model reports its changes, without SwiftUI")
    func observing() async {
        let shelf = Shelf()
        await confirmation { isChanged in
            withObservationTracking {
                _ = shelf.titles
            } onChange: {
                isChanged()
            }
            shelf.titles.append("Momo")
        }
    }
}
