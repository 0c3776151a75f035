// Per-request data other than the request itself.

import Foundation
import Hummingbird

struct ServiceContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// The sender of the request; nil where no sign-in is needed.
    var person: Person?

    var maxUploadSize: Int { Limits.bodyByteCount }

    /// The same answer is the same text each time.
    var responseEncoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }

    init(source: Source) {
        coreContext = CoreRequestContextStorage(source: source)
    }

    /// The sender of the request.
    func signedIn() throws -> Person {
        guard let person else { throw Sessions.Refusal.unknownToken }
        return person
    }
}
